#!/usr/bin/env python3
"""Writes man pages from the comments of the public headers and from the program's own help.

  scripts/man.py OUTPUT [--program PROGRAM] HEADER...

leaves OUTPUT/man3, and with --program OUTPUT/man1. It is run by every build that has Python
(cmake/man.cmake); its pages are not in the repository. It needs the standard library alone.

What it expects of a header:

  - The first comment is about the whole header. Its first line may be "NAME: what it is."
  - A chapter begins with a comment whose first line is dashes and whose second is "N. Title". What else
    the comment says holds for all functions of the chapter, and is part of their pages.
  - A public function begins with BH_API in the first column, and ends with a semicolon. Its comment
    ends on the line above. A macro bh_name(...) that follows a function is another way to call it,
    and the name of their common page.
  - A struct or enum is "typedef struct name {" to "} name;", or "struct name {" to "};". Its comment ends
    on the line above. A comment behind a member, on its line, is the member's; one on lines of its own
    is about the member that follows.
  - In comments: an empty line separates paragraphs; "- " and "1. " begin items; lines indented by 4
    columns are code; two spaces end the first column of a table, and its other lines are indented to
    the second column; a line above an item or a table, without punctuation at its end, is a heading.

What it expects of the help of the program and of its commands: lines that begin with "usage: "; text
in the first column; a line that ends in a colon above indented lines is a heading; tables as above.
The table below "commands:" names the commands.

Exit status: 0, or 1 with one sentence on standard error, which names the line.
"""

import argparse
import os
import re
import subprocess
import sys


class Failure(Exception):
    """Ends the program with its sentence and exit status 1."""


def read_text(path):
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{path}: cannot be read: {getattr(error, 'strerror', None) or 'not text'}") from None


# --- Reading a header ----------------------------------------------------------------------------

class Comment:
    """Lines without what makes them a comment; `last` is the number of its last line in the file."""

    def __init__(self, text, last=0):
        self.last = last
        lines = text[2:-2].split("\n")
        self.lines = [lines[0].strip()]
        for line in lines[1:]:
            starred = re.match(r"\s*\* ?", line)
            self.lines.append(line[starred.end():].rstrip() if starred else line.strip())
        while self.lines and not self.lines[0]:
            del self.lines[0]
        while self.lines and not self.lines[-1]:
            del self.lines[-1]


class Chapter:
    def __init__(self, title, lines):
        self.title = title
        self.lines = lines


class Function:
    """A function with the macros that call it. The first macro names the page."""

    def __init__(self, name, prototype, lines, chapter):
        self.prototype = prototype
        self.lines = lines
        self.chapter = chapter
        self.names = [name]
        self.macros = []

    @property
    def name(self):
        return self.names[0]


class Type:
    def __init__(self, name, opening, members, lines, chapter):
        self.names = [name]
        self.name = name
        self.opening = opening # "typedef struct"
        self.members = members
        self.lines = lines
        self.chapter = chapter


class Member:
    """A member of a struct or enum; a struct within one has members of its own."""

    def __init__(self, text, before):
        self.text = text
        self.comments = [before] if before else []
        self.members = None

    @property
    def name(self):
        found = re.search(r"\(\*\s*(\w+)\)|^(\w+) *=|(\w+)(?:\[[^]]*\])*$", self.text)
        return next(group for group in found.groups() if group)


def read_members(tokens, separator, where):
    """Members up to the brace that ends them. tokens: what split_members() gives."""
    members, text, before, inner = [], "", None, None
    while tokens:
        kind, token, same_line = tokens.pop(0)
        if kind == "comment":
            if text.strip() and separator == ",":
                tokens.insert(0, (kind, token, same_line)) # behind the last one, which has no comma
                kind, token = "end", ","
            elif same_line and members and not text.strip():
                members[-1].comments.append(Comment(token))
                continue
            else:
                before = Comment(token)
                continue
        if kind == "text":
            text += token
        elif kind == "open":
            inner = read_members(tokens, ";", where)
            text += "{}"
        else:
            if text.strip():
                members.append(Member(" ".join(text.split()), before))
                if inner is not None:
                    members[-1].members = inner
            text, before, inner = "", None, None
            if kind == "close":
                return members
    raise Failure(f"{where}: this struct or enum has no end")


def split_members(body, separator):
    """(kind, text, whether it begins on the line on which the token before ended)"""
    tokens = []
    for found in re.finditer(r"/\*.*?\*/|[{}]|" + separator + r"|\n|(?:(?!/\*)[^{}\n" + separator + r"])+", body,
                             re.DOTALL):
        token = found[0]
        line = body.rfind("\n", 0, found.start())
        same_line = body[line + 1:found.start()].strip() != ""
        kind = {"{": "open", "}": "close", separator: "end"}.get(token, "text")
        tokens.append(("comment" if token.startswith("/*") else kind, token, same_line))
    return tokens


class Header:
    """A public header: what it declares, in its order."""

    def __init__(self, path):
        self.path = path
        self.include = "/".join(os.path.abspath(path).split(os.sep)[-2:])
        self.opening = None
        self.functions = []
        self.types = []
        self.chapters = []
        self.lines = read_text(path).split("\n")
        self.next = 0     # index of the next line
        self.comment = None
        self.newest = None # the function whose declaration has just ended, and its last line
        while self.next < len(self.lines):
            self.read_one()
        if self.opening is None:
            raise Failure(f"{path}:1: the header has no comment that tells what it is")

    def where(self, index):
        return f"{self.path}:{index + 1}"

    def take_until(self, done):
        """The lines from the next one to the first that is done, joined."""
        start = self.next
        while self.next < len(self.lines):
            self.next += 1
            if done(self.lines[self.next - 1]):
                return "\n".join(self.lines[start:self.next])
        raise Failure(f"{self.where(start)}: this has no end")

    def comment_above(self, index, what):
        if self.comment is None or self.comment.last != index:
            raise Failure(f"{self.where(index)}: {what} has no comment")
        return self.comment.lines

    def read_one(self):
        start = self.next
        line = self.lines[start]
        chapter = self.chapters[-1] if self.chapters else None
        if not line.strip() or line in ('extern "C" {', "}") or re.fullmatch(r"(struct|enum|union) \w+;", line):
            self.next += 1
        elif line.startswith("/*"):
            self.read_comment(start)
        elif line.startswith("#"):
            text = self.take_until(lambda ended: not ended.endswith("\\"))
            macro = re.match(r"#define (bh_\w+)\(", text)
            if macro:
                self.read_macro(macro[1], text, start, chapter)
        elif line.startswith("BH_API"):
            text = self.take_until(lambda ended: ended.endswith(";"))
            prototype = " ".join(text.split())[len("BH_API "):]
            name = re.match(r"[^(]*?(\w+) *\(", prototype)
            if not name:
                raise Failure(f"{self.where(start)}: BH_API, and no function")
            comment = self.comment_above(start, name[1])
            self.functions.append(Function(name[1], prototype, comment, chapter))
            self.newest = self.next
        elif re.match(r"(typedef )?(struct|enum|union)\b.*\{$", line):
            self.read_type(start, chapter)
        elif line.startswith("typedef "):
            self.take_until(lambda ended: ended.endswith(";")) # nothing to tell that its users do not
        else:
            raise Failure(f"{self.where(start)}: neither a comment, nor a typedef, nor a function that begins "
                          "with BH_API")

    def read_comment(self, start):
        text = self.take_until(lambda ended: ended.rstrip().endswith("*/"))
        comment = Comment(text.rstrip(), self.next)
        if self.opening is None:
            self.opening = comment.lines
        elif re.match(r"-{8,}$", comment.lines[0]):
            title = re.match(r"\d+\. (.+)", comment.lines[1]) if len(comment.lines) > 1 else None
            if not title:
                raise Failure(f'{self.where(start)}: a chapter whose second line is not "N. Title"')
            lines = [line for line in comment.lines[2:] if not re.match(r"-{8,}$", line)]
            self.chapters.append(Chapter(title[1], lines))
        else:
            self.comment = comment

    def read_macro(self, name, text, start, chapter):
        definition = text.replace("\\\n", " ")
        if self.newest == start:
            function = self.functions[-1]
            function.names.insert(len(function.macros), name)
            function.macros.append(" ".join(definition.split()))
            self.newest = self.next
        else:
            comment = self.comment_above(start, name)
            self.functions.append(Function(name, " ".join(definition.split()), comment, chapter))

    def read_type(self, start, chapter):
        text = self.take_until(lambda ended: ended.startswith("}"))
        name = re.search(r"\} *(\w+);$", text) or re.match(r"(?:struct|enum|union) (\w+)", text)
        if not name:
            raise Failure(f"{self.where(start)}: a typedef that does not end with its name")
        comment = self.comment_above(start, name[1])
        opening, body = text.split("{", 1)
        separator = "," if "enum" in opening else ";"
        tokens = split_members(body, separator)
        self.types.append(Type(name[1], "typedef " + re.search(r"struct|enum|union", opening)[0],
                               read_members(tokens, separator, self.where(start)), comment, chapter))


# --- What a comment consists of ------------------------------------------------------------------
# blocks() makes a list of pairs: ("paragraph", text), ("heading", text), ("code", lines),
# ("items", [(mark, blocks)]), ("table", [(tag, blocks)]).

ITEM = re.compile(r" *(-|\d+\.) +(?=\S)")
ROW = re.compile(r" *(\S+(?: \S+)*?) {2,}(?=\S)")
CODE_INDENT = 4


def indent_of(line):
    return len(line) - len(line.lstrip())


def begins_table(lines, i):
    if ROW.match(lines[i]):
        return True
    return (re.fullmatch(r" *\w+", lines[i]) is not None and i + 1 < len(lines) and
            indent_of(lines[i + 1]) == indent_of(lines[i]) and ROW.match(lines[i + 1]) is not None)


def read_items(lines, i):
    items = []
    indent = indent_of(lines[i])
    while i < len(lines):
        item = ITEM.match(lines[i])
        if not item or indent_of(lines[i]) != indent:
            break
        column = item.end()
        body = [lines[i][column:]]
        i += 1
        while i < len(lines) and (not lines[i] or indent_of(lines[i]) > indent):
            rest = lines[i]
            body.append(rest[min(column, indent_of(rest)):])
            i += 1
        items.append((item[1], blocks(body)))
    return items, i


def read_table(lines, i):
    rows = []
    column = next(row.end() for row in map(ROW.match, lines[i:]) if row)
    indent = indent_of(lines[i])
    while i < len(lines) and lines[i]:
        row = ROW.match(lines[i])
        if row and row.end() == column:
            rows.append((row[1], [lines[i][column:]]))
        elif indent_of(lines[i]) >= column and rows:
            rows[-1][1].append(lines[i][column:])
        elif indent_of(lines[i]) == indent and re.fullmatch(r" *\w+", lines[i]):
            rows.append((lines[i].strip(), []))
        else:
            break
        i += 1
    return [(tag, blocks(body)) for tag, body in rows], i


def blocks(lines):
    found = []
    i = 0
    while i < len(lines):
        indent = indent_of(lines[i])
        if not lines[i]:
            i += 1
        elif ITEM.match(lines[i]):
            items, i = read_items(lines, i)
            found.append(("items", items))
        elif indent >= CODE_INDENT:
            start = i
            while i < len(lines) and (not lines[i] or indent_of(lines[i]) >= CODE_INDENT):
                i += 1
            code = "\n".join(lines[start:i]).rstrip().split("\n")
            found.append(("code", [line[CODE_INDENT:] for line in code]))
        elif begins_table(lines, i):
            rows, i = read_table(lines, i)
            found.append(("table", rows))
        else:
            start = i
            i += 1
            while i < len(lines) and lines[i] and (
                    indent_of(lines[i]) == indent or
                    not (ITEM.match(lines[i]) or indent_of(lines[i]) >= CODE_INDENT or begins_table(lines, i))):
                i += 1
            above_list = i == start + 1 and i < len(lines) and (ITEM.match(lines[i]) or (
                0 < indent_of(lines[i]) < CODE_INDENT and begins_table(lines, i)))
            heading = above_list and lines[start][-1] not in ".:;,"
            text = " ".join(line.strip() for line in lines[start:i])
            found.append(("heading" if heading else "paragraph", text))
    return found


# --- Writing roff --------------------------------------------------------------------------------

ESCAPES = {"\\": "\\e", "-": "\\-", "'": "\\(aq", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"}
# What stands out in text: `name`; names of the API; options of the program.
WORDS = re.compile(r"(`[^`]+`|\bbh_\w*\w\b|\bBH_\w*\w\b|\bBULKHASH_\w+\b|(?<![\w/-])--?[A-Za-z][\w-]*)")


def escape(text):
    text = "".join(ESCAPES.get(letter, letter) for letter in text)
    return "\\&" + text if text.startswith(".") else text


def bold(text):
    return f"\\fB{escape(text)}\\fR"


def italic(text):
    return f"\\fI{escape(text)}\\fR"


def inline(text):
    """One sentence a line, which is what roff spaces sentences by."""
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z`(])", text)
    lines = []
    for sentence in sentences:
        parts = WORDS.split(sentence)
        lines.append("".join(
            (italic(part[1:-1]) if part.startswith("`") else bold(part)) if i % 2 else
            "".join(ESCAPES.get(letter, letter) for letter in part)
            for i, part in enumerate(parts)))
    return "\n".join("\\&" + line if line.startswith(".") else line for line in lines)


def tag_text(tag):
    """The first column of a table: names of the API and options are bold, what else there is italic."""
    if not WORDS.search(tag):
        return italic(tag)
    parts = WORDS.split(tag)
    return "".join(bold(part) if i % 2 else re.sub(r"[A-Z]+(,[A-Z]+)*", lambda name: italic(name[0]), escape(part))
                   for i, part in enumerate(parts))


def code(lines):
    return [".nf", *(escape(line) for line in lines), ".fi"]


def roff(found, first_is_open=False):
    """The lines of blocks. first_is_open: a paragraph has been begun already, by a tag or a mark."""
    out = []
    for i, (kind, content) in enumerate(found):
        is_open = first_is_open and i == 0
        if first_is_open and i == 1:
            out.append(".RS")
        if kind == "paragraph":
            out += [inline(content)] if is_open else [".PP", inline(content)]
        elif kind == "heading":
            out.append(".SS " + escape(content))
        elif kind == "code":
            out += [".PP", ".RS 4", *code(content), ".RE"]
        else:
            for mark, body in content:
                if kind == "table":
                    out += [".TP", tag_text(mark)]
                else:
                    out.append(".IP \\(bu 2" if mark == "-" else f".IP {mark} 3")
                out += roff(body, True)
    if first_is_open and len(found) > 1:
        out.append(".RE")
    return out


def wrapped(prototype, width=72):
    """A prototype on lines of at most that width, if that can be, indented to its arguments."""
    indent = prototype.index(")(" if "(*" in prototype else "(") + 1
    indent += prototype[indent - 1] == ")" # it is a pointer to a function: the second parenthesis
    lines, rest = [prototype[:indent]], prototype[indent:]
    for piece in re.split(r"(?<=,) ", rest):
        if len(lines[-1]) + len(piece) > width and len(lines[-1]) > indent:
            lines[-1] = lines[-1].rstrip()
            lines.append(" " * indent)
        lines[-1] += piece + " "
    return [line.rstrip() for line in lines]


def page(name, section, version, parts):
    """parts: (heading, lines) each."""
    manual = "bulkhash library" if section == 3 else "bulkhash"
    out = ['.\\" Made by scripts/man.py: change what it was made from.',
           f'.TH {escape(name.upper())} {section} "" "bulkhash {version}" "{manual}"', ".nh", ".ad l"]
    for heading, lines in parts:
        if lines:
            title, option = re.fullmatch(r"(.*?)( -.*)?", heading).groups()
            out += [f".SH {title.upper()}{escape(option or '')}", *lines]
    text = "\n".join(out) + "\n"
    # A heading is followed by its text: a macro for a paragraph there says nothing.
    return re.sub(r"^(\.S[HS] .*)\n\.PP$", r"\1", text, flags=re.MULTILINE)


def name_lines(names, summary):
    return [", ".join(escape(name) for name in names) + " \\- " + escape(summary.replace("`", ""))]


def see_also(names):
    lines = [f".BR {escape(name)} ({section})," for name, section in names]
    if lines:
        lines[-1] = lines[-1][:-1]
    return lines


def summary_of(lines):
    """The beginning of a comment, up to where its first sentence ends or goes into details."""
    paragraph = next((text for kind, text in blocks(lines) if kind == "paragraph"), "")
    summary = re.split(r"[.;:](?: |$)", paragraph)[0]
    if re.match(r"[A-Z]( |[a-z])", summary):
        summary = summary[0].lower() + summary[1:]
    return summary


# --- Pages of the library ------------------------------------------------------------------------

def header_name(header):
    stem = os.path.splitext(os.path.basename(header.path))[0]
    return stem if stem == "bulkhash" else "bulkhash_" + stem


def mentioned(text, pages, own):
    """Pages of what a text names, in its order."""
    found = []
    for name in re.findall(r"\bbh_\w*\w\b", text):
        target = pages.get(name)
        if target and target not in own and target not in found:
            found.append(target)
    return found


def synopsis(header, lines):
    return [".nf", bold(f"#include <{header.include}>"), "", *(bold(line) if line else "" for line in lines), ".fi"]


def function_page(function, header, pages, version):
    lines = wrapped(function.prototype) if not function.prototype.startswith("#") else [function.prototype]
    for macro in function.macros:
        call, expansion = re.match(r"(#define \w+\([^)]*\)) *(.*)", macro).groups()
        lines += ["", call + " \\", *("    " + line + " \\" for line in wrapped(expansion, 66))]
        lines[-1] = lines[-1][:-2]
    chapter = function.chapter
    neighbours = [other.name for other in header.functions if other.chapter is chapter]
    own = mentioned(" ".join([function.prototype, *function.lines]), pages, function.names)
    others = own + [name for name in neighbours if name not in own and name != function.name]
    return page(function.name, 3, version, [
        ("name", name_lines(function.names, summary_of(function.lines))),
        ("synopsis", synopsis(header, lines)),
        ("description", roff(blocks(function.lines))),
        (chapter.title if chapter else "", roff(blocks(chapter.lines)) if chapter else []),
        ("see also", see_also([(header_name(header), 3)] + [(name, 3) for name in others]))])


def declaration(members, separator, indent=4):
    lines = []
    for i, member in enumerate(members):
        end = separator if separator == ";" or i + 1 < len(members) else ""
        if member.members is not None:
            head, tail = member.text.split("{}")
            lines += [" " * indent + head.strip() + " {", *declaration(member.members, separator, indent + 4),
                      " " * indent + "} " + tail.strip() + end]
        elif "(*" in member.text:
            lines += [" " * indent + line for line in wrapped(member.text + end, 72 - indent)]
        else:
            lines.append(" " * indent + member.text + end)
    return lines


def member_lines(members, prefix=""):
    lines, bare = [], False
    for member in members:
        found = [block for comment in member.comments for block in blocks(comment.lines)]
        name = prefix + (member.name if member.members is None else member.text.split("{}")[1].strip())
        lines += [".TQ" if bare and not found else ".TP", bold(name), *roff(found, True)]
        bare = not found
        if member.members is not None:
            lines += member_lines(member.members, name + ".")
    return lines


def type_page(one, header, headers, pages, version):
    separator = "," if "enum" in one.opening else ";"
    text = " ".join(one.lines + [member.text for member in one.members])
    users = [(function.name, function.prototype) for each in headers for function in each.functions]
    users += [(other.name, " ".join(member.text for member in other.members))
              for each in headers for other in each.types]
    others = mentioned(text, pages, [one.name])
    others += [name for name, used in users
               if re.search(rf"\b{one.name}\b", used) and name not in others and name != one.name]
    return page(one.name, 3, version, [
        ("name", name_lines([one.name], summary_of(one.lines))),
        ("synopsis", synopsis(header, [f"{one.opening} {one.name} {{", *declaration(one.members, separator),
                                       f"}} {one.name};"])),
        ("description", roff(blocks(one.lines))),
        ("values" if separator == "," else "members", member_lines(one.members)),
        ("see also", see_also([(header_name(header), 3)] + [(name, 3) for name in others]))])


def contents(header, entries):
    """Functions or types with their summaries, by chapter."""
    lines, chapter = [], None
    for entry in entries:
        if entry.chapter is not None and entry.chapter is not chapter:
            chapter = entry.chapter
            lines.append(".SS " + escape(chapter.title))
        lines += [".TP", f".BR {escape(entry.name)} (3)", inline(summary_of(entry.lines))]
    return lines


def header_page(header, others, has_program, version):
    name = header_name(header)
    title = re.fullmatch(r"[\w ./]+: (.*)\.", header.opening[0])
    lines = ["", "cc program.c $(pkg-config --cflags --libs bulkhash)"] if name == "bulkhash" else []
    related = [(header_name(other), 3) for other in others] + ([("bulkhash", 1)] if has_program else [])
    return page(name, 3, version, [
        ("name", name_lines([name], title[1] if title else summary_of(header.opening))),
        ("synopsis", synopsis(header, lines[1:])),
        ("description", roff(blocks(header.opening[1 if title else 0:]))),
        ("functions", contents(header, header.functions)),
        ("types", contents(header, header.types)),
        ("see also", see_also(related))])


def version_of(headers):
    for header in headers:
        numbers = re.findall(r"^#define BH_VERSION_(?:MAJOR|MINOR|PATCH) (\d+)$", "\n".join(header.lines),
                             re.MULTILINE)
        if len(numbers) == 3:
            return ".".join(numbers)
    raise Failure("no header defines BH_VERSION_MAJOR, BH_VERSION_MINOR and BH_VERSION_PATCH")


def library_pages(headers, has_program, version):
    pages, written = {}, {}
    for header in headers:
        for entry in header.functions + header.types:
            pages.update((name, entry.name) for name in entry.names)
    for header in headers:
        others = [other for other in headers if other is not header]
        written[header_name(header)] = header_page(header, others, has_program, version)
        for function in header.functions:
            written[function.name] = function_page(function, header, pages, version)
            for name in function.names[1:]:
                written[name] = f".so man3/{function.name}.3\n"
        for one in header.types:
            written[one.name] = type_page(one, header, headers, pages, version)
    return written


# --- Pages of the program ------------------------------------------------------------------------

class NotRun(Failure):
    """The program does not run here: built for another machine, or not installed where it looks."""


class Help:
    """What `PROGRAM [COMMAND] --help` prints: a summary, lines of usage, sections of lines."""

    def __init__(self, program, command):
        words = [program, *command, "--help"]
        what = " ".join(["bulkhash", *command, "--help"])
        try:
            said = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
                                  encoding="utf-8").stdout
        except (OSError, subprocess.CalledProcessError) as error:
            raise NotRun(f"{what}: cannot be had from {program}: {error}") from None
        lines = [line.rstrip() for line in said.split("\n")]
        title = re.match(r"bulkhash[\w ]*: (.*)", lines[0])
        self.summary = title[1] if title else None
        self.usage = []
        self.sections = {"description": []}
        self.split(lines[1:] if title else lines)
        if not self.usage:
            raise Failure(f'{what}: no line begins with "usage: "')

    def split(self, lines):
        section = "description"
        previous = ""
        for i, line in enumerate(lines):
            usage = re.match(r"usage: (.*)", line, re.IGNORECASE)
            follows = lines[i + 1] if i + 1 < len(lines) else ""
            if usage:
                self.usage.append(usage[1])
                section = "usage"
            elif section == "usage" and line.startswith(" "):
                self.usage.append(line.strip())
            elif line and not line.startswith(" ") and line.endswith(":") and follows.startswith(" "):
                section = line[:-1]
                self.sections.setdefault(section, [])
            else:
                if line and not line.startswith(" ") and (not previous or section == "usage"):
                    section = "description"
                elif re.match(r" +-", line) and not previous and section == "description":
                    section = "options"
                    self.sections.setdefault(section, [])
                if section != "usage":
                    self.sections[section].append(line)
            previous = line

    def roff_of(self, section):
        lines = self.sections.get(section, [])
        if section != "description" and not any(ROW.match(line) for line in lines):
            return code([line.strip() for line in "\n".join(lines).strip().split("\n")])
        return roff(blocks(lines))


def program_page(words, one, summary, version, related):
    parts = [("name", name_lines(["-".join(words)], summary)),
             ("synopsis", [".nf", *(bold(line) for line in one.usage), ".fi"]),
             ("description", one.roff_of("description"))]
    last = [section for section in one.sections if section.lower() == "examples"]
    parts += [(section, one.roff_of(section)) for section in one.sections
              if section != "description" and section not in last]
    parts += [(section, one.roff_of(section)) for section in last]
    return page("-".join(words), 1, version, parts + [("see also", see_also(related))])


def program_pages(program, version):
    main_help = Help(program, [])
    rows = [content for kind, content in blocks(main_help.sections.get("commands", [])) if kind == "table"]
    if not rows:
        raise Failure('bulkhash --help: there is no table of commands below "commands:"')
    commands = [(tag, body[0][1]) for tag, body in rows[0]]
    written = {"bulkhash": program_page(
        ["bulkhash"], main_help, main_help.summary, version,
        [("bulkhash-" + command, 1) for command, _ in commands] + [("bulkhash", 3)])}
    for command, summary in commands:
        one = Help(program, [command])
        others = [("bulkhash-" + other, 1) for other, _ in commands if other != command]
        written["bulkhash-" + command] = program_page(
            ["bulkhash", command], one, one.summary or re.sub(r" \(.*\)$", "", summary), version,
            [("bulkhash", 1)] + others)
    return written


# --- The command line ----------------------------------------------------------------------------

def write_pages(directory, section, pages):
    """The pages, and none that an earlier run has left."""
    os.makedirs(directory, exist_ok=True)
    for old in os.listdir(directory):
        if re.fullmatch(rf"(bulkhash|bh_).*\.{section}", old):
            os.unlink(os.path.join(directory, old))
    for name, text in pages.items():
        with open(os.path.join(directory, f"{name}.{section}"), "w", encoding="utf-8") as file:
            file.write(text)


def main():
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(prog="man.py", description=__doc__.replace("%", "%%"), formatter_class=raw)
    parser.add_argument("output", metavar="OUTPUT")
    parser.add_argument("headers", metavar="HEADER", nargs="+")
    parser.add_argument("--program", metavar="PROGRAM", help="also write the pages of this program")
    arguments = parser.parse_args()
    try:
        headers = [Header(path) for path in arguments.headers]
        version = version_of(headers)
        programs = {}
        try:
            if arguments.program:
                programs = program_pages(arguments.program, version)
        except NotRun as reason:
            print(f"man: the pages of the program are left out: {reason}", file=sys.stderr)
        pages = library_pages(headers, bool(programs), version)
        write_pages(os.path.join(arguments.output, "man3"), 3, pages)
        write_pages(os.path.join(arguments.output, "man1"), 1, programs)
    except Failure as failure:
        print(f"man: {failure}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"man: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
