#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Tell what gni_pub.h leaves undocumented.

    docs.py HEADER TABLE

Every function, and every struct, union or enum that has a name, needs a
kernel-doc comment right before it. A function's comment describes just its
parameters, by the names that the table gives them too, and its context and
return value; a GNI_RC_* in it exists. Enums of more than 20 values may have a
DOC comment. Prints what is wrong and ends with 1 if anything is.
"""

import re
import sys

PROTOTYPE = re.compile(r"(?:extern )?([\w ]+[ *])(\w+)\s*\((.*)\)", re.S)
TYPE = re.compile(r"(?:typedef )?(struct|union|enum) (\w+) \{(.*)\}.*", re.S)
COMMENT = re.compile(r"/\*.*?\*/", re.S)


def split_params(text):
    """Parameter names, those of pointers to functions included."""
    parts = re.split(r",(?![^()]*\))", text)
    names = []
    for part in parts:
        pointer = re.search(r"\(\*(\w+)\)", part)
        names.append(pointer[1] if pointer else re.search(r"(\w+)\s*$", part)[1])
    return names


def declarations(text):
    """Pairs of a comment and the declaration that follows it, which may be ''."""
    text = re.sub(r"\\\n", " ", text)
    text = re.sub(r'^#.*$|^extern "C" \{$|^\}$', "", text, flags=re.M)
    comment = ""
    while text := text.lstrip():
        if match := COMMENT.match(text):
            if comment:
                yield comment, ""
            comment = match[0]
            text = text[match.end():]
            continue
        depth = end = 0
        while depth or text[end] != ";":
            depth += {"{": 1, "}": -1}.get(text[end], 0)
            end += 1
        yield comment, COMMENT.sub("", text[:end]).strip()
        comment = ""
        text = text[end + 1:]


def main():
    with open(sys.argv[1], encoding="utf-8") as header:
        text = header.read()
    table = {}
    with open(sys.argv[2], encoding="utf-8") as rows:
        for row in (line.rstrip("\n").split("\t") for line in rows):
            if row[0] == "func" and row[1] != "accessor":
                table[row[2]] = split_params(row[4])
    codes = set(re.findall(r"^\t(GNI_RC_\w+)", text, re.M))
    wrong = []
    functions = 0
    for comment, decl in declarations(text):
        if comment and not comment.startswith("/**"):
            comment = ""
        for code in re.findall(r"GNI_RC_\w+", comment):
            if code not in codes:
                wrong.append(f"{code} does not exist: {comment[:60]!r}")
        if kind := TYPE.fullmatch(decl):
            if not re.match(r"/\*\*\n \* %s %s - \S" % kind.group(1, 2), comment) and not (
                    kind[1] == "enum" and kind[3].count(",") >= 20 and " * DOC: " in comment):
                wrong.append(f"{kind[1]} {kind[2]}: no comment")
        elif not decl.startswith("typedef") and (func := PROTOTYPE.fullmatch(decl)):
            functions += 1
            ret, name, params = func[1].strip(), func[2], split_params(func[3])
            if not re.match(r"/\*\*\n \* %s\(\) - \S" % name, comment):
                wrong.append(f"{name}: no comment")
                continue
            described = re.findall(r"^ \* @(\w+):", comment, re.M)
            if described != params:
                wrong.append(f"{name}: describes {described}, has {params}")
            if name in table and table[name] != params:
                wrong.append(f"{name}: has {params}, the table {table[name]}")
            for part in ("Context:",) + (("Return:",) if ret != "void" else ()):
                if f"\n * {part}" not in comment:
                    wrong.append(f"{name}: nothing about {part}")
            if not re.search(r"Interface: 000, lines? \d|Newer than", comment):
                wrong.append(f"{name}: does not say where it comes from")
            if ret == "gni_return_t" and "GNI_RC_" not in comment and "as GNI_" not in comment:
                wrong.append(f"{name}: no return codes")
    missing = set(table) - set(re.findall(r"(\w+)\(", COMMENT.sub("", text)))
    wrong += [f"{name}: not in the header" for name in sorted(missing)]
    for line in wrong:
        print(line)
    print(f"{functions} functions")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
