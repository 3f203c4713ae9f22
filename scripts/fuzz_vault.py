"""What has to hold for every input: of the modules of the vault."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any

from fuzz_inputs import PATH, text_of, texts_of

from automemory.errors import ConfigError, PathEscape, VaultError

AT = datetime(2026, 5, 28, 14, 3, 22, tzinfo=UTC)
_REPR = re.compile(r"\{'|\['|<(?:class|object)|\bat 0x[0-9a-f]{6}")


def same(left: object, right: object) -> None:
    if left != right:
        raise AssertionError(f"{left!r:.200} is not {right!r:.200}")


def no_repr(text: str, given: Any) -> None:
    """Nothing in a text is a Python repr, unless it was given."""
    if (match := _REPR.search(text)) and match[0] not in text_of(given):
        raise AssertionError(f"a repr in {text!r:.200}")


def kept_lines(old: str, new: str) -> None:
    """All lines of a text stand in a new one, in their order."""
    lines = iter([line.rstrip("\r") for line in new.replace("\ufeff", "").split("\n")])
    for line in (line.rstrip("\r") for line in old.replace("\ufeff", "").split("\n")):
        if line and line not in lines:
            raise AssertionError(f"{line!r} is gone from {new!r:.300}")


def writable(text: str) -> bool:
    return not re.search("[\ud800-\udfff]", text)


def frontmatter(given: Any) -> None:
    from automemory.vault.event import text_field
    from automemory.vault.frontmatter import edit, read, render

    text, key, value = texts_of(given, 3)
    fields = {key or "a": value, "title": text, "closed": "2026-05-28T15:40:11+08:00"}
    for name in fields:
        fields[name] = (
            fields[name].encode("utf-8", "replace").decode() if not writable(fields[name]) else fields[name]
        )
    if writable(key) and len(key) < 100:
        back = read(render(fields))
        same((back.error, {k: v or "" for k, v in back.fields.items()}), ("", fields))
    for note in (
        text,
        f"---\n{text}",
        f"---\n{text}\n---\nbody",
        f"---\r\nname: a\r\n{text}\r\n---\r\nbody\r\n",
    ):
        front = read(note)
        for name in front.fields:
            text_field(front.fields, name)
        for change in ({"title": value}, {"name": None}, {key or "a": value, "closed": "2026-05-28"}):
            try:
                edited = edit(note, change)
            except VaultError:
                continue
            same(edited[read(edited).body :], note[front.body :])
            same(edit(edited, change), edited)


def quoting(given: Any) -> None:
    from automemory.content import clean
    from automemory.turn import Step
    from automemory.vault import quoting as q

    text, name, more = texts_of(given, 3)
    same(q.unescape(q.escape(clean(text))), clean(text))
    steps = [Step("user", text), Step("tool", more, name or "x", text, "error"), Step("other", more)]
    steps += [Step("tool", "", "run", more, "no result"), Step("tool", text, "run")]
    wanted = [
        Step(
            s.role,
            clean(s.text),
            clean(s.tool),
            None if s.arguments is None else clean(s.arguments),
            s.status,
        )
        for s in steps
    ]
    quoted = q.quote_steps(steps)
    if any(line and not line.startswith(">") for line in quoted.split("\n")):
        raise AssertionError("a line outside the quote")
    same(q.read_steps(quoted), wanted)
    folded = " ".join(clean(text).split())
    line = q.inline(text, lambda target: False)
    same(q.read_inline(line), folded)
    same("\n" in line, False)
    same(q.read_inline(q.inline(text, lambda target: True)), folded)
    for read in (text, f"> [!user]\n{text}", f"> [!tool]- a\n> ````\n{text}"):
        again = q.read_steps(q.quote_steps(q.read_steps(read)))
        same(q.read_steps(q.quote_steps(again)), again)


def note(given: Any) -> None:
    from automemory.content import clean
    from automemory.turn import Step
    from automemory.vault import note as n
    from automemory.vault.event import RecordedTurn, join_parts
    from automemory.vault.quoting import inline

    text, more, fields = texts_of(given, 3)
    steps = (Step("user", clean(text)), Step("tool", clean(more), "run", clean(text), "ok"))
    patch = inline(more, lambda target: False)
    turn = RecordedTurn("a1", AT, 2, "local", steps, 0.25, patch, ("x/y.md",), 2, True)
    block = n.turn_block(turn)
    whole = n.new_note({"name": "a", "title": clean(fields)}, "## Plan\nx", block)
    read = n.blocks(whole)
    folded = " ".join(clean(more).split())
    if not folded.startswith(("Refs: ", "Refs:")):
        same(read, [RecordedTurn("a1", AT, 2, "local", steps, 0.25, folded, ("x/y.md",), 2, True)])
    same(n.mend(whole), "")
    for torn in (text, text + block[: len(block) // 2], whole + text, block + more):
        mended = torn + n.mend(torn)
        same(n.mend(mended), "")
        if torn.startswith(block) or torn.startswith(whole):
            same([t.id for t in n.blocks(mended + "\n" + block)][:1], ["a1"])
        added = torn + n.lead(torn.encode("utf-8", "replace")) + block.replace("a1", "z9")
        same([t.id for t in n.blocks(added)][-1:], ["z9"])
        join_parts(n.blocks(torn))
        same(0 <= n.turns_start(torn) <= len(torn), True)
        n.read_event(PATH, torn, lambda path: more)


def index(given: Any) -> None:
    from automemory.content import clean
    from automemory.vault import index as i

    text, summary, person = texts_of(given, 3)
    for old in (
        text,
        f"# 2026-05-28\n\n## Events\n{text}",
        f"## Events\r\n- [[{PATH}|fix-login]]{text}\r\n{person}",
    ):
        before = [line for line in i.read_lines(old) if line.event == PATH]
        new = i.with_event(old, PATH)
        same(i.with_event(new, PATH), new)
        if not before:
            kept_lines(old, new)
        closed = i.with_summary(new, PATH, summary, "")
        same(i.with_summary(closed, PATH, summary, ""), closed)
        same(i.with_summary(closed, PATH, person, summary) == closed or i.tail(person) != "", True)
        same(len(closed.split("\n")), len(new.split("\n")))
        gone = i.without_event(closed, PATH, summary)
        same(i.without_event(gone, PATH, summary), gone)
        if new == old + i.line(PATH) + "\n":
            same(i.without_event(new, PATH, ""), old)
    tail = i.tail(summary)
    same(len(tail) <= i.MAX_TAIL and "\n" not in tail, True)
    folded = " ".join(re.sub("[\x00-\x1f\x7f-\x9f]", " ", clean(summary)).split())
    if not tail.endswith("…"):
        same(i.read_tail(tail), folded)
    for read in i.read_lines(text):
        same("\n" in read.text, False)


def sections(given: Any) -> None:
    from automemory.vault import sections as s
    from automemory.vault.frontmatter import read
    from automemory.vault.note import turns_start

    text, new, more = texts_of(given, 3)
    offered = {"Plan": new, "Progress": more, "Materials": new, "Next": more, "Objective": new}
    s.others(text)
    merged = s.merge(text, offered)
    same(s.merge(merged, offered), merged)
    for name, said in s.parse(text).items():
        if name in ("Progress", "Findings", "Decisions", "Materials"):
            kept_lines(*(re.sub("[ \\t]+$", "", held, flags=re.M) for held in (said, s.parse(merged)[name])))
    begin = "### 14:03:22\n<!-- turn id=a at=2026-05-28T14:03:22+00:00 n=2 by=local -->\n"
    turns = f"\n## Turns\n\n{begin}\n> [!user]\n<!-- /turn a -->\n"
    for whole in (text, f"---\nname: a\n---\n\n{text}\n{turns}", f"{text}{turns}{more}"):
        front, end = read(whole).body, turns_start(whole, read(whole).body)
        changed = s.merge_note(whole, offered)
        same(changed[:front], whole[:front])
        same(changed.endswith(whole[end:]), True)
        same(changed[turns_start(changed, front) :], whole[end:])
        same(s.merge_note(changed, offered), changed)
        same(len(re.findall(r"^## Turns", changed, re.M)), len(re.findall(r"^## Turns", whole, re.M)))


def sanitize(given: Any) -> None:
    from automemory.vault import outline
    from automemory.vault import sanitize as p

    (text,) = texts_of(given, 1)
    for resolves in (lambda target: False, lambda target: True):
        line = p.safe_line(text, resolves)
        same(p.safe_line(line, resolves), line)
        entry = p.safe_entry(text, resolves)
        same(p.safe_entry(entry, resolves), entry)
        safe = p.safe_text(text, resolves)
        same(p.safe_text(safe, resolves), safe)
        for made in (line, entry, safe):
            same(outline.headings(outline.lines_of(made)), [])
            same(re.search(r"^[ \t]*<!--|-->", made, re.M), None)
        markdown = p.safe_markdown(text, resolves)
        same(p.safe_markdown(markdown, resolves), markdown)
    for entry in p.entries(text):
        same("\n" in entry or not entry.strip(), False)


def outline(given: Any) -> None:
    from automemory.vault import outline as o

    (text,) = texts_of(given, 1)
    lines = o.lines_of(text)
    same("".join(lines), text)
    for part in o.outline(lines):
        same(part.heading < part.first <= part.last <= part.own_end <= part.end <= len(lines), True)


def links(given: Any) -> None:
    from automemory.vault import links as k

    (text,) = texts_of(given, 1)
    lines = text.split("\n")
    for read in (text, f"---\ninherits: {text}\n---\n{text}", f"<!-- turn id=a at=x n=1 by=b -->\n{text}"):
        lines = read.split("\n")
        found = k.find_links(read)
        for link in found:
            same(lines[link.line - 1].rstrip("\r"), link.text)
            same(bool(link.target.strip()), True)
            no_repr(link.target, read)
        same(len(k.find_links(read, quoted=True)) >= len(found), True)
        if found and not k.may_link(read) and not read.startswith("---"):
            raise AssertionError("a link that may_link does not see")


def relink(given: Any) -> None:
    from automemory.vault.links import find_links
    from automemory.vault.relink import relinked

    text, more = texts_of(given, 2)
    for read in (text, f"---\nname: a\ninherits: {more}\n---\n{text}"):
        same(relinked(read, {}), read)
        targets = {link.target for link in find_links(read)}
        for new in ("", "new/place.md"):
            changed = relinked(read, dict.fromkeys(targets, new))
            hit = {link.line for link in find_links(read)}
            if new and not read.startswith("---"):
                kept = [line for n, line in enumerate(read.split("\n"), 1) if n not in hit]
                kept_lines("\n".join(kept), changed)


def layout(given: Any) -> None:
    import regex

    from automemory.vault import layout as y
    from automemory.vault import naming as n

    text, more = texts_of(given, 2)
    for slug in (n.slugify(text), n.slug_from_words(text)):
        if slug is not None:
            same(bool(regex.fullmatch(r"[\p{L}\p{Nd}\p{M}]+(?:-[\p{L}\p{Nd}\p{M}]+)*", slug)), True)
            same(len(slug) <= 60 and len(slug.encode()) <= 120, True)
            same(y.fold(slug), slug)
            same(n.slugify(slug) in (slug, None), True)
            same(y.parse_event_path(y.event_path("2026-05-28", slug)), ("2026-05-28", slug))
            same(str(y.safe_path(f"daily/{slug}.md")), f"daily/{slug}.md")
    try:
        path = y.safe_path(text)
        same(path.is_absolute() or ".." in path.parts, False)
    except PathEscape:
        pass
    for check in (n.check_agent_id, n.safe_component):
        try:
            name = check(text)
            same(check(name), name)
        except ConfigError:
            pass
    y.parse_event_path(text)
    y.parse_link(given)
    if not re.search(r"[\[\]|#\n\\\"']", more) and more.strip() and re.search(r"\.\w{1,5}\Z", more.strip()):
        same(y.parse_link(y.link(more, text)), more.strip())


def blocks(given: Any) -> None:
    from automemory.vault import blocks as b
    from automemory.vault import note as n

    text, source, ids = texts_of(given, 3)
    head, pieces = b.cut(text)
    same(head + "".join(piece.raw + piece.after for piece in pieces), text)
    same(b.without_turns(text, []), text)
    both = b.with_turns(text, source)
    same(b.with_turns(both, source), both)
    same(b.holds_all(both, source), True)
    if both != text:
        kept_lines(text + n.mend(text), both)
    same({t.id for t in n.blocks(text)} <= {t.id for t in n.blocks(both)}, True)
    names = {piece.id for piece in pieces} | {ids}
    less = b.without_turns(text, names)
    same(b.without_turns(less, names), less)
    b.without_turns(both, names, source)


def revise(given: Any) -> None:
    from automemory.vault.revise import is_view, with_text

    text, added = (part.encode("utf-8", "replace").decode() for part in texts_of(given, 2))
    added = re.sub("^(?:<!--|#).*", "", added, flags=re.M)
    once = with_text(text, added)
    same(with_text(once, added), once)
    kept_lines(text, once)
    is_view(text)


def edits(given: Any) -> None:
    from automemory.vault import edits as e

    text, more, path = texts_of(given, 3)
    closing = e.Closing(path, text, more)
    plan = e.Plan(
        (
            e.Create(path, text, more),
            e.Append(path, 3, "\n", text, "\r\n"),
            e.Merge(path, {"Plan": text}, True, [["Plan", "replace", False]]),
            e.SetFields(path, {"title": text, "closed": None}),
            e.UpdateIndex(path, [text], [closing], [closing]),
        ),
        more,
        e.Filing("a", path, 2, 1, 1.5),
    )
    if writable(text + more + path):
        same(e.load(e.dump(plan)), plan)
    e.merged(plan.edits)
