# SPDX-License-Identifier: GPL-2.0-only
# Writes a manual page from its template and the kernel-doc comments of a header:
#
#	awk -f gen-man.awk -v example=FILE.c HEADER PAGE.3.in
#
# A template is a page in which these lines stand for more:
#	@SYNOPSIS@	prototypes of the calls that the NAME section has
#	@CALLS@		what each of them does, with its parameters
#	@RETURNS@	what they return
#	@CONTEXTS@	who may call them
#	@EXAMPLE@	the file
#	@DOC name@	the comment of a struct or enum, or the text of a DOC comment

# --- the header ---------------------------------------------------------------

function new_doc(title)
{
	name = title
	sub(/^DOC: /, "", name)
	summary[title] = ""
	if (title !~ /^DOC: /) {
		sub(/^(struct|enum|union) /, "", name)
		summary[title] = name
		sub(/^[^ ]* - /, "", summary[title])
		sub(/(\(\))? - .*/, "", name)
	}
	if (name in known) {
		name = ""
		return
	}
	known[name] = 1
	text_of[name] = summary[title]
	params[name] = codes[name] = paragraphs[name] = 0
	part = "params"
	fresh = 0
}

# One line of the comment, without its " * ".
function doc_line(line)
{
	if (!name)
		return
	if (line ~ /^@[a-zA-Z_0-9]*:/ && part == "params") {
		param[name, ++params[name]] = substr(line, 2, index(line, ":") - 2)
		sub(/^@[^:]*: */, "", line)
		about[name, params[name]] = line
	} else if (line ~ /^\t/ && part == "params") {
		sub(/^\t/, "", line)
		about[name, params[name]] = about[name, params[name]] "\n" line
	} else if (line ~ /^Interface: /) {
		part = "source"
	} else if (line ~ /^Context: /) {
		part = "context"
		context[name] = substr(line, 10)
	} else if (line ~ /^Return:/) {
		part = "return"
		returns[name] = substr(line, 9)
	} else if (part == "return" && line ~ /^\* %/) {
		code[name, ++codes[name]] = substr(line, 4, index(line, " - ") - 4)
		when[name, codes[name]] = substr(line, index(line, " - ") + 3)
	} else if (part == "return") {
		sub(/^ */, "", line)
		if (codes[name])
			when[name, codes[name]] = when[name, codes[name]] "\n" line
		else
			returns[name] = returns[name] "\n" line
	} else if (part == "context") {
		context[name] = context[name] "\n" line
	} else if (line == "") {
		part = "body"
		fresh = 1
	} else if (part == "body") {
		if (fresh)
			body[name, ++paragraphs[name]] = line
		else
			body[name, paragraphs[name]] = body[name, paragraphs[name]] "\n" line
		fresh = 0
	}
}

FNR == 1 { file++ }
file == 1 && /^\/\*\*$/ { in_doc = 1; want_title = 1; next }
file == 1 && in_doc && /^ \*\/$/ {
	in_doc = 0
	proto_of = (name && $0) ? name : ""
	next
}
file == 1 && in_doc {
	line = $0
	sub(/^ \* ?/, "", line)
	if (want_title)
		new_doc(line)
	else
		doc_line(line)
	want_title = 0
	next
}
file == 1 && proto_of {
	if (!(proto_of in prototype) && $0 !~ /^[a-z].*[ *]([Gg][Nn][Ii]_[A-Za-z_]*)\(/) {
		proto_of = ""
		next
	}
	line = $0
	sub(/^[ \t]*/, "", line)
	prototype[proto_of] = prototype[proto_of] (prototype[proto_of] ? " " : "") line
	if (line ~ /;$/)
		proto_of = ""
}
file == 1 { next }

# --- the page -----------------------------------------------------------------

# Text as roff has it: parameters in italics, names of the interface in bold.
function roff(text,    out, line, n, i, lines)
{
	gsub(/\\/, "\\e", text)
	gsub(/\(-/, "(\\-", text)
	gsub(/ -/, " \\-", text)
	text = marked(text, "@[a-z_][a-z_0-9A-Z]*", 1, "\\fI")
	while (match(text, /[*][a-z]+[*]/))
		text = substr(text, 1, RSTART - 1) "\\fI" \
			substr(text, RSTART + 1, RLENGTH - 2) "\\fP" substr(text, RSTART + RLENGTH)
	text = marked(text, "%?(GNI_[A-Z0-9_]*[*]?|[Gg][Nn][Ii]_[A-Za-z0-9_]*\\(\\))", 0, "\\fB")
	n = split(text, lines, "\n")
	for (i = 1; i <= n; i++) {
		line = lines[i]
		sub(/^ +/, "", line)
		if (line ~ /^[.']/)
			line = "\\&" line
		out = out (i > 1 ? "\n" : "") line
	}
	return out
}

# Sets what matches in a font; without its first character if so many go.
function marked(text, pattern, drop, font,    out, word)
{
	while (match(text, pattern)) {
		word = substr(text, RSTART + drop, RLENGTH - drop)
		sub(/^%/, "", word)
		out = out substr(text, 1, RSTART - 1) font word "\\fP"
		text = substr(text, RSTART + RLENGTH)
	}
	return out text
}

# A summary as a sentence.
function sentence(text)
{
	text = toupper(substr(text, 1, 1)) substr(text, 2)
	return text (text ~ /^(Is|Does|Has|Can|Did|Where does) / ? "?" : ".")
}

function list(call,    i)
{
	for (i = 1; i <= params[call]; i++)
		print ".TP\n.I " param[call, i] "\n" roff(about[call, i])
}

function text_and_list(call,    i)
{
	list(call)
	for (i = 1; i <= paragraphs[call]; i++)
		print ".PP\n" roff(body[call, i])
}

# Prototypes, broken at commas where a line would be longer than a terminal's.
function synopsis(    c, n, i, parts, line)
{
	print ".nf\n.B #include <gni_pub.h>\n.PP"
	for (c = 1; c <= calls; c++) {
		n = split(prototype[call_name[c]], parts, /, /)
		line = parts[1]
		for (i = 2; i <= n; i++) {
			if (length(line) + length(parts[i]) > 68) {
				print ".B \"" line ",\""
				line = "    " parts[i]
			} else {
				line = line ", " parts[i]
			}
		}
		print ".B \"" line "\""
		if (c < calls)
			print ".PP"
	}
	print ".fi"
}

function describe(    c)
{
	for (c = 1; c <= calls; c++) {
		print ".SS " call_name[c] "()\n" roff(sentence(text_of[call_name[c]]))
		text_and_list(call_name[c])
	}
}

function return_values(    c, i, name)
{
	for (c = 1; c <= calls; c++) {
		name = call_name[c]
		if (!codes[name] && returns[name] !~ /[^ \n]/)
			continue
		print ".SS " name "()"
		if (returns[name] ~ /[^ \n]/)
			print roff(toupper(substr(returns[name], 1, 1)) substr(returns[name], 2))
		for (i = 1; i <= codes[name]; i++)
			print ".TP\n.B " code[name, i] "\n" roff(when[name, i])
	}
}

# Calls whose contexts are alike stand together.
function contexts(    c, d, names, seen)
{
	for (c = 1; c <= calls; c++) {
		if (seen[c])
			continue
		names = ".BR " call_name[c] " ()"
		for (d = c + 1; d <= calls; d++)
			if (context[call_name[d]] == context[call_name[c]]) {
				seen[d] = 1
				names = names ",\n.TQ\n.BR " call_name[d] " ()"
			}
		print ".TP\n" names
		print roff(toupper(substr(context[call_name[c]], 1, 1)) \
			substr(context[call_name[c]], 2))
	}
}

# Tabs are as wide as in the file; the first line is the licence's.
function show_example(    line, tab)
{
	tab = sprintf("%8s", "")
	print ".EX\n.in 0"
	while ((getline line < example) > 0) {
		if (line ~ /SPDX-License-Identifier/)
			continue
		while (match(line, /\t/))
			line = substr(line, 1, RSTART - 1) \
				substr(tab, (RSTART - 1) % 8 + 1) substr(line, RSTART + 1)
		gsub(/\\/, "\\e", line)
		gsub(/-/, "\\-", line)
		if (line ~ /^[.']/)
			line = "\\&" line
		print line
	}
	print ".in\n.EE"
}

/^\.SH / { in_name = $2 == "NAME" }
in_name && !/^\.SH/ {
	line = $0
	in_name = !sub(/ *\\-.*/, "", line)
	n = split(line, words, /[, ]+/)
	for (i = 1; i <= n; i++)
		if (words[i] != "") {
			call_name[++calls] = words[i]
			if (!(words[i] in prototype)) {
				print FILENAME ": there is no " words[i] > "/dev/stderr"
				bad = 1
			}
		}
}
$0 == "@SYNOPSIS@" { synopsis(); next }
$0 == "@CALLS@" { describe(); next }
$0 == "@RETURNS@" { return_values(); next }
$0 == "@CONTEXTS@" { contexts(); next }
$0 == "@EXAMPLE@" { show_example(); next }
/^@DOC .*@$/ {
	line = substr($0, 6, length($0) - 6)
	if (!(line in known)) {
		print FILENAME ": there is no comment on " line > "/dev/stderr"
		bad = 1
	}
	text_and_list(line)
	next
}
{ print }
# Names are not to be broken.
/^\.TH / { print ".nh\n.ad l" }
END { exit bad }
