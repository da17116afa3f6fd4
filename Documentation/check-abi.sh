#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Compares the tables in abi.rst with the headers that they describe: calls,
# structures, the rules of posts, sources and states of queue entries. Prints
# TAP.
#
#	Documentation/check-abi.sh
set -euo pipefail
cd "$(dirname "$0")/.."
# shellcheck source=tests/cases.sh
. tests/cases.sh

text=Documentation/abi.rst
uapi=include/uapi/gni/kgni.h
ring=include/uapi/gni/ring.h
cqe=kernel/core/cqe.h

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# What is asked of the compiler, as C: one line of output for each row.
questions()
{
	cat <<-'C'
	#include <stddef.h>
	#include <stdio.h>
	#include <gni/kgni.h>
	#include <gni/ring.h>
	#include "core/cqe.h"
	#include "core/rules.h"

	#define FIELD(s, f) printf("field %s %zu %zu %s\n", #s, offsetof(struct s, f), \
				   sizeof(((struct s *)0)->f), #f)
	#define CALL(n, s) printf("call %s 0x%02x %s%s %zu %s\n", #n, _IOC_NR(KGNI_IOC_##n), \
				  _IOC_DIR(KGNI_IOC_##n) & _IOC_WRITE ? "W" : "", \
				  _IOC_DIR(KGNI_IOC_##n) & _IOC_READ ? "R" : "", sizeof(struct s), #s)
	#define NUMBER(n) printf("number %d %s\n", n, #n)

	/* A post of this type that keeps the rules. */
	static struct kgni_ioc_post good(unsigned int type, unsigned int amo)
	{
		return (struct kgni_ioc_post){ .type = type, .length = 8, .amo_cmd = amo };
	}

	/* The least length, and the least address, that the rules take. */
	static unsigned int length_of(unsigned int type, unsigned int amo)
	{
		struct kgni_ioc_post a = good(type, amo);
		struct kgni_amo x;

		for (a.length = 1; kgni_post_check(&a, &x) != KGNI_RULE_OK; a.length++)
			;
		return (unsigned int)a.length;
	}

	static unsigned int address_of(unsigned int type, unsigned int amo)
	{
		struct kgni_ioc_post a = good(type, amo);
		struct kgni_amo x;

		for (a.remote_addr = 1; kgni_post_check(&a, &x) != KGNI_RULE_OK; a.remote_addr++)
			;
		return (unsigned int)a.remote_addr;
	}

	static void rule(unsigned int n, const char *name)
	{
		const struct kgni_post_rule *r = kgni_post_rule(n);
		const char *engine = r->bte ? "BTE" : "FMA";

		if (r->amo && address_of(n, 0x055) == 8 && length_of(n, 0x055) == 8 &&
		    address_of(n, 0x254) == 4 && length_of(n, 0x254) == 4)
			printf("rule %u %s %s %s %s operand operand\n", n, name, engine,
			       r->local ? "yes" : "if fetching", r->empty ? "yes" : "no");
		else if (n == KGNI_POST_CQWRITE)
			printf("rule %u %s %s no unused unused unused\n", n, name, engine);
		else
			printf("rule %u %s %s %s %s %u %u\n", n, name, engine,
			       r->local ? "yes" : "no", r->empty ? "yes" : "no",
			       address_of(n, 0), length_of(n, 0));
	}
	#define RULE(n) rule(KGNI_POST_##n, #n)

	int main(void)
	{
	C
	awk '/^struct [a-z_]* \{/ { s = $2; next } /^}/ { s = "" }
		s && match($0, /[a-z_0-9]+(\[[A-Z_0-9a-z]+\])?;/) {
			f = substr($0, RSTART, RLENGTH); sub(/[[;].*/, "", f)
			print "FIELD(" s ", " f ");" }' "$uapi" "$ring"
	sed -nE 's/^#define KGNI_IOC_([A-Z_]*)\t.*struct ([a-z_]*)\)$/CALL(\1, \2);/p' "$uapi"
	sed -nE 's/^\t(KGNI_CQE_(FMA|BTE|REMOTE|DRIVER|CE)|KGNI_ST_[A-Z_]*) = .*/NUMBER(\1);/p' "$cqe"
	sed -nE 's/^\tKGNI_POST_([A-Z_]*) = .*/RULE(\1);/p' kernel/core/rules.h
	echo 'return 0; }'
}

# abi.rst's rows in the same form; first columns only, where text follows.
rows()
{
	awk '{ gsub(/``/, "") }
		/^struct [a-z_]*:$/ { s = $2; sub(":", "", s); next }
		/^[A-Z].*$/ && NF >= 6 && $2 ~ /^0x/ { print "call", $1, $2, $3, $4, $5 }
		/^[0-9]+ +[0-9]+ +[a-z_0-9]+/ && s { print "field", s, $1, $2, $3 }
		/^[0-9]+ +KGNI_(CQE|ST)_/ { print "number", $1, $2 }
		/^[0-9]+ +[A-Z_]+ +(FMA|BTE) / { $1 = $1; print "rule", $0 }' "$text"
}

same()
{
	diff <(grep "^$1 " "$tmp/headers" | sort) <(grep "^$1 " "$tmp/text" | sort) &&
		grep -q "^$1 " "$tmp/headers"
}

ask_compiler()
{
	questions >"$tmp/questions.c" &&
		"${CC:-gcc}" -Iinclude -Iinclude/uapi -Ikernel -o "$tmp/questions" "$tmp/questions.c" &&
		"$tmp/questions" >"$tmp/headers"
}

rows >"$tmp/text"
check "abi.rst: the headers compile" ask_compiler
check "abi.rst: the table of calls" same call
check "abi.rst: fields of the structures" same field
check "abi.rst: rules of posts" same rule
check "abi.rst: sources and states of entries" same number
done_checking
