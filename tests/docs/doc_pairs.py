"""Compares a translation (NAME.zh.md) with the English document (NAME.md): each has to hold the other's headings, blocks
of code, code in the text and links, section by section. The commands of the English one are run by doc_commands.py, and
those of the translation are the same. Within a section the order of code and links is the language's own. In a block only
what stands behind "# " may differ: a comment of the shell."""
import collections
import re

LANGUAGE = ".zh"


def english_of(document):
    """The English document of a translation; None: the document is none."""
    return document[:-len(LANGUAGE + ".md")] + ".md" if document.endswith(LANGUAGE + ".md") else None


def target(link):
    """A link's file without its language, and whether it names a heading, since headings are translated."""
    file, _, heading = link.partition("#")
    return file.replace(LANGUAGE + ".md", ".md") + ("#" if heading else "")


def anchor(heading):
    """What a link to this heading says, as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.replace("`", "").strip().lower()).replace(" ", "-")


class Section:
    """What stands below one heading."""
    def __init__(self, line):
        self.heading, self.level = line.strip("# \n"), len(line) - len(line.lstrip("#"))
        self.blocks, self.text = [], ""

    def parts(self):
        """Name and value of each thing that both languages have to have."""
        code = [" ".join(found.split()) for found in re.findall(r"`([^`]+)`", self.text)]
        links = [target(link) for link in re.findall(r"\]\(([^)\s]+)\)|<(https?://[^>]+)>", self.text) for link in link if link]
        return [("level", self.level)] + [("block", block) for block in self.blocks] + \
            [("code", collections.Counter(code)), ("links", collections.Counter(links))]


def sections(document):
    """The document as a list of Section."""
    found, block = [Section("")], None
    with open(document, encoding="utf-8") as file:
        for line in file:
            if line.startswith("```"):
                if block is None:
                    block = line
                else:
                    found[-1].blocks.append(block)
                    block = None
            elif block is not None:
                block += re.sub(r"\s+# .*$", "", line)
            elif re.match(r"#+ ", line):
                found.append(Section(line))
            else:
                found[-1].text += line
    return found


def difference(kind, mine, theirs):
    """One line on what only one of both holds."""
    if kind == "block":
        pairs = zip(mine.splitlines() + [""], theirs.splitlines() + [""])
        return next((f'"{here}", not "{there}"' for here, there in pairs if here != there), "another length")
    if kind in ("code", "links"):
        return f"missing {sorted((theirs - mine).elements())}, not in the English {sorted((mine - theirs).elements())}"
    return f"{mine}, not {theirs}"


def wrong_pair(document):
    """What the translation says that the English document does not, and the other way round."""
    mine, theirs = sections(document), sections(english_of(document))
    if len(mine) != len(theirs):
        return [f"{len(mine) - 1} headings, not {len(theirs) - 1}"]
    found = []
    for here, there in zip(mine, theirs):
        here_parts, there_parts = here.parts(), there.parts()
        if len(here.blocks) != len(there.blocks):
            found.append(f"{here.heading}: {len(here.blocks)} blocks of code, not {len(there.blocks)}")
            continue
        found += [f"{here.heading}: {kind}: {difference(kind, a, b)}"
                  for (kind, a), (_, b) in zip(here_parts, there_parts) if a != b]
    headings = {anchor(section.heading) for section in mine}
    text = "".join(section.text for section in mine)
    found += [f"no heading for the link #{name}" for name in re.findall(r"\]\(#([^)\s]+)\)", text) if name not in headings]
    return found
