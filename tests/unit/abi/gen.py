#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-only
"""Write C files that fail to compile, or to run, where gni_pub.h differs from a table.

    gen.py TABLE OUTDIR

user.c and kernel.c check every row that concerns them, in C or C++; stubs.c
has functions for them to call; inline.c brings accessors of its own. Errors
point to the row: its line number in the table. A row that this program does
not understand ends it.
"""

import os
import re
import sys

ARIES_ONLY = re.compile(r"GNI_STAT_(DLA|FLBTE)_")
SAMPLES = ("0U", "1U", "5U", "0x12345678U", "0xffffffffU", "0x80000003U")


class Row:
    def __init__(self, number, line):
        self.number = number
        self.kind, *self.cols = line.split("\t")

    def die(self, why):
        sys.exit(f"row {self.number}: {why}: {self.kind} {self.cols}")


def read(path):
    rows = []
    with open(path, encoding="utf-8") as table:
        for number, line in enumerate(table, 1):
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                rows.append(Row(number, line))
    return rows


class Checks:
    """The lines of one generated file: at file scope, and inside a function."""

    def __init__(self, rows, kernel):
        self.kernel = kernel
        self.scope = []
        self.code = []
        self.accessors = {r.cols[1] for r in rows if r.kind == "func" and r.cols[0] == "accessor"}
        # A struct whose row says so is there for the kernel only.
        self.kernel_structs = {r.cols[0] for r in rows
                               if r.kind == "field" and "(kernel only" in r.cols[-1]}
        self.stats = [r.cols[1] for r in rows if r.kind == "enum" and r.cols[0] == "gni_statistic_t"]
        for row in rows:
            want = {"func": 4, "enum": 3, "define": 2, "struct": 2, "field": 5}.get(row.kind)
            if want != len(row.cols) or not all(row.cols):
                row.die("not understood")
            getattr(self, row.kind)(row, *row.cols)
        if not kernel:
            for name in sorted(self.kernel_structs):
                self.scope.append(f"struct {name} {{ char absent; }};")

    def add(self, row, *lines):
        for line in (f"ROW({row.number});",) + lines:
            self.scope.append(f'#line {row.number} "gni_abi.tsv"\n{line}')

    def run(self, row, *lines):
        self.add(row)
        for line in lines:
            self.code.append(f'#line {row.number} "gni_abi.tsv"\n\t{line}')

    def func(self, row, where, name, ret, params):
        if where not in ("user", "accessor", "kernel"):
            row.die("neither user nor accessor nor kernel")
        if where == ("user" if self.kernel else "kernel"):
            self.scope.append(f'#line {row.number} "gni_abi.tsv"\nextern char {name};')
            return
        spec = f"spec_{row.number}"
        self.add(row,
                 f"typedef {ret} {spec}({params});",
                 f"CHECK(SAME(__typeof__({name}), {spec}));",
                 f"{ret} {name}({params});")

    def enum(self, row, etype, name, value):
        lines = [f"CHECK({name} == {value});"]
        if etype != "-":
            if not etype.endswith("_t"):
                row.die("type without _t")
            lines += [f"CHECK(SAME({etype}, enum {etype[:-2]}));",
                      f"CHECK_ENUMERATOR({name}, {etype});"]
        if ARIES_ONLY.match(name):
            self.scope.append("#ifdef CRAY_CONFIG_GHAL_ARIES")
            self.add(row, *lines)
            self.scope.append(f"#else\nenum {{ {name} }};\n#endif")
        elif name == "GNI_NUM_STATS":
            # It counts the names before it, in either mode.
            few = sum(1 for s in self.stats if s != name and not ARIES_ONLY.match(s))
            self.scope.append("#ifdef CRAY_CONFIG_GHAL_ARIES")
            self.add(row, *lines)
            self.scope.append("#else")
            self.add(row, f"CHECK({name} == {few});", *lines[1:])
            self.scope.append("#endif")
        else:
            self.add(row, *lines)

    def define(self, row, name, text):
        text = re.sub(r"\bBIT\((\d+)\)", r"(1 << \1)", text)
        macro = re.fullmatch(r"(\w+)\(([\w\s,]+)\)", name)
        if macro:
            self.macro(row, macro[1], [p.strip() for p in macro[2].split(",")], text)
        elif text in self.accessors:
            self.run(row, f"if (!same_fn((any_fn){name}, (any_fn){text})) fail({row.number});")
        elif re.fullmatch(r"\w+", name):
            self.add(row, f"CHECK({name} == ({text}));", f"CHECK_CONST_TYPE({name}, ({text}));")
        else:
            row.die("not a macro")

    def macro(self, row, name, params, text):
        spec = f"SPEC_{name}"
        self.scope.append(f"#define {spec}({', '.join(params)}) {text}")
        if "&(" in text:        # changes its first argument
            rest = "".join(f", {s}" for s in SAMPLES[3:2 + len(params)])
            self.run(row, f"a = b = 0x123456789; {name}(a{rest}); {spec}(b{rest});",
                     f"if (a != b) fail({row.number});")
        elif any(a in text for a in self.accessors):
            if len(params) != 1:
                row.die("more than one argument")
            self.run(row, *(f"a = {s}; if ({name}(a) != {spec}(a)) fail({row.number});"
                            for s in SAMPLES))
        else:
            lines = []
            for i in range(len(SAMPLES)):
                args = [SAMPLES[(i + j) % len(SAMPLES)] for j in range(len(params))]
                lines.append(f"CHECK({name}({', '.join(args)}) == {spec}({', '.join(args)}));")
            args = [f"0x{i + 1}0000001U | 0x{i + 2}U" for i in range(len(params))]
            lines.append(f"CHECK({name}({', '.join(args)}) == "
                         f"{spec}({', '.join(f'({a})' for a in args)}));")
            args = ", ".join(SAMPLES[1] for _ in params)
            lines.append(f"CHECK_CONST_TYPE({name}({args}), {spec}({args}));")
            self.add(row, *lines)

    def struct(self, row, name, size):
        self.add(row, f"CHECK(sizeof(struct {name}) == {size});",
                 f"CHECK(SAME(struct {name}, {name}_t));")

    def field(self, row, struct, field, offset, size, ctype):
        if struct in self.kernel_structs and not self.kernel:
            return
        ctype = re.sub(r"\s*\([^)]*\)$", "", ctype)
        names = [field]
        span = re.fullmatch(r"([a-z]+)(\d+)\.\.\1(\d+)", field)
        if span:
            if not size.endswith(" each"):
                row.die("a range of fields without a size each")
            size = size[:-len(" each")]
            names = [f"{span[1]}{i}" for i in range(int(span[2]), int(span[3]) + 1)]
        # An array is marked at the field or at its type.
        array = re.search(r"\[\d+\]$", field) or re.search(r"\[\d+\]$", ctype)
        dims = array[0] if array else ""
        ctype = ctype.removesuffix(dims)
        lines = [f"typedef {ctype} spec_{row.number}{dims};"]
        for name in names:
            name = name.removesuffix(dims)
            member = f"((struct {struct} *)0)->{name}"
            lines.append(f"CHECK(sizeof({member}) == {size});")
            lines.append(f"CHECK(SAME(__typeof__({member}), spec_{row.number}));")
            if offset != "-":
                lines.append(f"CHECK(__builtin_offsetof(struct {struct}, {name}) == {offset});")
        lines.append(f"CHECK(SAME(struct {struct}, {struct}_t));")
        self.add(row, *lines)

    def text(self):
        return "\n".join([
            '#include "gni_pub.h"\n#include "check.h"',
            '#ifdef __cplusplus\nextern "C" {\n#endif',
            *self.scope,
            "typedef void (*any_fn)(void);",
            "static int same_fn(any_fn x, any_fn y) { return x == y; }",
            "void gni_abi_run(void (*fail)(int row))",
            "{",
            "\tgni_cq_entry_t a = 0, b = 0;",
            *self.code,
            "}",
            '#ifdef __cplusplus\n}\n#endif\n'])


def accessor_body(row, prefix, index):
    """A function that gives, or leaves behind, something all its own."""
    salt = 3 + 2 * index
    _, name, ret, params = row.cols
    params = [p.strip() for p in params.split(",")]
    decl = ", ".join(f"{p}{'' if p.endswith('*') else ' '}a{i}" for i, p in enumerate(params))
    if ret == "void":
        value = "+ a1" if len(params) > 1 else ""
        body = f"*a0 = *a0 * {salt} + 1 {value};"
    elif params[0] == "gni_ce_result_t *":
        body = f"return ({ret})(a0->control * {salt});"
    else:
        # Zero for one of the samples: GNI_CQ_STATUS_OK() looks for it.
        body = f"return ({ret})((a0 ^ {SAMPLES[index % len(SAMPLES)]}) * {salt});"
    return f"{prefix}{ret} {name}({decl})\n{{\n\t{body}\n}}"


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    rows = read(sys.argv[1])
    accessors = [r for r in rows if r.kind == "func" and r.cols[0] == "accessor"]
    files = {
        "user.c": Checks(rows, kernel=False).text(),
        "kernel.c": Checks(rows, kernel=True).text(),
        "stubs.c": "\n".join(['#include "gni_pub.h"'] + [
            accessor_body(r, "", i) for i, r in enumerate(accessors)]) + "\n",
        "inline.c": "\n".join(['#include "gni_pub.h"'] + [
            accessor_body(r, "static inline ", 0) for r in accessors
            if r.cols[1].startswith("gni_cq_")]) + "\n",
    }
    os.makedirs(sys.argv[2], exist_ok=True)
    for name, text in files.items():
        with open(os.path.join(sys.argv[2], name), "w", encoding="utf-8") as out:
            out.write(f"/* Made by gen.py. */\n{text}")


if __name__ == "__main__":
    main()
