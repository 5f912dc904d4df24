#!/usr/bin/env python3
"""Writes what is made from elsewhere: crawlnode/model.py from docs/openapi.json, and
docs/python.md from the docstrings of the module. With --check it writes nothing, and fails when a
file is not what it would write.

    python3 clients/python/generate.py [--check]
"""

import inspect
import json
import keyword
import pathlib
import re
import sys
import textwrap
from typing import Any, Dict, List, Set, Tuple

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs"
WIDTH = 96

# The documents that the client returns; the parts of these follow.
ROOTS = (
    "CaptureReport", "CapturesReport", "CrawlReport", "Event", "NodeStatus", "ResultsReport",
    "SearchReport", "SeedReport", "Status", "WorkerLease",
)
# The classes that a program makes itself.
CALLED = ("Client", "Result")
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
DICT_METHODS = frozenset(dir(dict))


def reference(schema: Dict[str, Any]) -> str:
    """The schema that is named, "" without one."""
    return str(schema.get("$ref", "")).rpartition("/")[2]


def typed(schema: Dict[str, Any]) -> Tuple[str, str]:
    """The Python type of a schema, and the class of the objects in it ("": none)."""
    if reference(schema):
        return reference(schema), reference(schema)
    for key in ("allOf", "anyOf", "oneOf"):
        parts = [p for p in schema.get(key, []) if p.get("type") != "null"]
        if len(parts) == 1:
            kind, part = typed(parts[0])
            if len(parts) != len(schema[key]):
                kind = "Optional[%s]" % kind
            return kind, part
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    null = "null" in kinds
    kinds = [k for k in kinds if k != "null"]
    kind, part = "Any", ""
    if len(kinds) == 1 and kinds[0] in PLAIN:
        kind = PLAIN[kinds[0]]
    elif kinds == ["array"]:
        inner, part = typed(schema.get("items", {}))
        kind = "List[%s]" % inner
    elif kinds == ["object"]:
        values = schema.get("additionalProperties")
        inner = typed(values)[0] if isinstance(values, dict) and values else "Any"
        kind = "Dict[str, %s]" % inner
    return ("Optional[%s]" % kind if null and kind != "Any" else kind), part


def parts_of(schema: Dict[str, Any]) -> Set[str]:
    found = re.findall(r'"#/components/schemas/(\w+)"', json.dumps(schema))
    return set(found)


def model() -> str:
    """The text of crawlnode/model.py."""
    schemas = json.loads((DOCS / "openapi.json").read_text("utf-8"))["components"]["schemas"]
    wanted: Set[str] = set()
    todo = list(ROOTS)
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            todo += parts_of(schemas[name])
    out = [
        '"""The documents of the API, made from docs/openapi.json by generate.py: change neither',
        'by hand."""',
        "",
        "# ruff: noqa",
        "from typing import Any, Dict, List, Optional",
        "",
        "from ._record import Record",
        "",
        "__all__ = [",
    ]
    out += ['    "%s",' % name for name in sorted(wanted)] + ["]", ""]
    shapes: List[str] = []
    for name in sorted(wanted):
        schema = schemas[name]
        required = set(schema.get("required", []))
        out += ["", "class %s(Record):" % name]
        text = schema.get("description", "A part of an answer.")
        out += textwrap.wrap('"""' + text + '"""', WIDTH, initial_indent="    ",
                             subsequent_indent="    ", break_long_words=False)
        parts, optional = [], []
        fields = []
        for field, of in schema.get("properties", {}).items():
            kind, part = typed(of)
            if part:
                parts.append("%r: %s" % (field, part))
            if not field.isidentifier() or keyword.iskeyword(field) or field in DICT_METHODS:
                continue
            if field not in required:
                optional.append(field)
                if not kind.startswith("Optional["):
                    kind = "Optional[%s]" % kind if kind != "Any" else kind
            about = of.get("description", "")
            fields += textwrap.wrap(about, WIDTH - 3, initial_indent="    #: ",
                                    subsequent_indent="    #: ", break_long_words=False)
            # Quoted: a class may have parts that stand further down.
            fields.append("    %s: %r" % (field, kind) if part else "    %s: %s" % (field, kind))
        out += [""] + fields if fields else []
        if optional:
            names = textwrap.wrap(", ".join('"%s"' % o for o in optional) + ",", WIDTH - 8)
            out += ["", "    _optional = frozenset((", *["        " + n for n in names], "    ))"]
        out.append("")
        if parts:
            inside = textwrap.wrap(", ".join(parts).replace("'", '"') + ",", WIDTH - 4,
                                   break_long_words=False)
            shapes += ["%s._parts = {" % name, *["    " + i for i in inside], "}"]
    whole: str = "\n".join([*out, "", *shapes, ""])
    return whole.replace(": '", ': "').replace("'\n", '"\n')


def signature(of: Any) -> str:
    """The signature of a function as it is written: each version of Python prints types in its
    own way, so that the annotations have to be texts."""
    parts, keywords = [], False
    signed = inspect.signature(of)
    for p in signed.parameters.values():
        if p.kind is p.KEYWORD_ONLY and not keywords:
            parts.append("*")
        keywords = keywords or p.kind in (p.KEYWORD_ONLY, p.VAR_POSITIONAL)
        stars = 1 if p.kind is p.VAR_POSITIONAL else 2 if p.kind is p.VAR_KEYWORD else 0
        text = "*" * stars + p.name
        if p.annotation is not p.empty:
            text += ": " + written(p.annotation)
        if p.default is not p.empty:
            text += " = " + repr(p.default)
        parts.append(text)
    result: Any = signed.return_annotation
    return "(%s)%s" % (
        ", ".join(parts), "" if result is signed.empty else " -> " + written(result)
    )


def written(annotation: Any) -> str:
    if annotation is None:
        return "None"
    if not isinstance(annotation, str):
        raise TypeError("%r: its module needs: from __future__ import annotations" % annotation)
    return annotation.strip("\"'")


def marked(text: str) -> str:
    """A docstring as Markdown: `code` for ``code`` and :meth:`code`."""
    text = re.sub(r":\w+:`~?([^`]+)`", r"`\1`", text)
    text = text.replace("``", "`")
    blocks = []
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if block.startswith("    "):
            blocks.append("```python\n%s\n```" % textwrap.dedent(block))
            continue
        lines: List[str] = []
        for line in block.split("\n"):  # items of a list keep their lines
            if lines and not re.match(r"[-*] ", line):
                lines[-1] += " " + line.strip()
            else:
                lines.append(line)
        for i, line in enumerate(lines):
            indent = "  " if re.match(r"[-*] ", line) else ""
            lines[i] = "\n".join(textwrap.wrap(line, 98, subsequent_indent=indent,
                                               break_long_words=False, break_on_hyphens=False))
        blocks.append("\n".join(lines))
    joined = "\n\n".join(blocks)
    return re.sub(r"\n```\n\n```python\n", "\n\n", joined)


def member(name: str, of: Any) -> List[str]:
    head = "%s%s" % (name, signature(of)) if callable(of) else name
    head = re.sub(r"\(self(, )?", "(", head)
    out = ["```python", *wrapped(head), "```", ""]
    doc = inspect.getdoc(of if not isinstance(of, property) else of.fget) or ""
    return out + [marked(doc), ""]


def wrapped(head: str) -> List[str]:
    """A signature in lines of at most 96 columns, one parameter a line when it is long."""
    if len(head) <= WIDTH:
        return [head]
    name, _, rest = head.partition("(")
    depth, parts, now = 0, [], ""
    inside, _, result = rest.rpartition(")")
    for c in inside:
        depth += c in "[(" 
        depth -= c in "])"
        if c == "," and depth == 0:
            parts.append(now.strip())
            now = ""
        else:
            now += c
    parts.append(now.strip())
    return [name + "(", *["    %s," % p for p in parts], ")" + result]


def constants(of: type) -> Dict[str, str]:
    """The attributes of a class with the comment (``#:``) that stands before each."""
    found: Dict[str, str] = {}
    comment: List[str] = []
    for line in inspect.getsource(of).split("\n"):
        text = line.strip()
        named = re.match(r"    (\w+)(?::|\s=)", line)
        if text.startswith("#:"):
            comment.append(text[2:].strip())
        elif named and comment:
            found[named.group(1)] = " ".join(comment)
            comment = []
        else:
            comment = []
    return found


def docs() -> str:
    """The text of docs/python.md."""
    sys.path.insert(0, str(HERE))
    import crawlnode
    from crawlnode import errors

    out = [
        "# Python",
        "",
        "This page is made from the docstrings of the module by `make generate`.",
        "",
        marked(crawlnode.__doc__ or ""),
        "",
    ]
    for title, names in crawlnode.CHAPTERS:
        out += ["## " + title, ""]
        for name in names:
            of = getattr(crawlnode, name)
            out += ["### `%s`" % name, ""]
            if not inspect.isclass(of):
                out += member(name, of)
                continue
            if name in CALLED:
                out += ["```python", *wrapped(name + re.sub(
                    r"\(self(, )?", "(", signature(of.__init__)).replace(" -> None", "")),
                    "```", ""]
            out += [marked(inspect.getdoc(of) or ""), ""]
            for field, about in constants(of).items():
                out += textwrap.wrap("- `%s`: %s" % (field, marked(about).replace("\n", " ")), 98,
                                     subsequent_indent="  ", break_long_words=False,
                                     break_on_hyphens=False)
            if constants(of):
                out.append("")
            for attribute, value in vars(of).items():
                if attribute.startswith("_") or not inspect.getdoc(value):
                    continue
                if inspect.isfunction(value) or isinstance(value, property):
                    out += ["#### `%s.%s`" % (name, attribute), "", *member(attribute, value)]
    out += ["## Errors", "", "`crawlnode.errors` has the classes; the module has them, too.", "",
            marked(errors.CrawlnodeError.__doc__ or ""), ""]
    for field, about in constants(errors.CrawlnodeError).items():
        out += textwrap.wrap("- `%s`: %s" % (field, marked(about).replace("\n", " ")), 98,
                             subsequent_indent="  ", break_long_words=False)
    out.append("")
    for name in errors.__all__:
        e = getattr(errors, name)
        if e is errors.CrawlnodeError:
            continue
        base = "" if e.__base__ is errors.CrawlnodeError else " (an `%s`)" % e.__base__.__name__
        text = "- `%s`%s, `%s`: %s" % (name, base, e.code, " ".join((e.__doc__ or "").split()))
        out += textwrap.wrap(marked(text).replace("\n", " "), 98, subsequent_indent="  ",
                             break_long_words=False, break_on_hyphens=False)
    return "\n".join(out).rstrip() + "\n"


def main() -> int:
    stale = 0
    for path, make in ((HERE / "crawlnode" / "model.py", model), (DOCS / "python.md", docs)):
        text = make()
        now = path.read_text("utf-8") if path.exists() else ""
        if now == text:
            continue
        if "--check" in sys.argv[1:]:
            print("%s is not what generate.py makes: run make generate" % path.name)
            stale = 1
        else:
            path.write_text(text, "utf-8")
    return stale


if __name__ == "__main__":
    sys.exit(main())
