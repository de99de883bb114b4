"""Which tests there are, and what they mention: for test_peers.py."""
import ast
import functools
import pathlib
import re


def python_tests(path):
    """By name: the source of each test, with that of the helpers of its file that it calls, and those that they call."""
    source = path.read_text(encoding="utf-8")
    functions = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef):
            functions.setdefault(node.name, []).append(ast.get_source_segment(source, node))

    def whole(name, depth):
        text = "\n".join(functions[name])
        called = set(re.findall(r"(?:self\.)?(\w+)\(", text)) & set(functions) - {name} if depth else ()
        return text + "".join("\n" + whole(other, depth - 1) for other in called if not other.startswith("test_"))

    return {name: whole(name, 2) for name in functions if name.startswith("test_")}


@functools.lru_cache(maxsize=None)
def all_tests(root):
    """What each test that ctest runs says, by ("cli.pause", "test_a_run") or ("guard", "takes_the_energy")."""
    found = {}
    built = "\n".join(path.read_text(encoding="utf-8") for path in (root / "tests").glob("*/**/CMakeLists.txt"))
    for path in sorted((root / "tests").glob("*/**/*")):
        if not re.search(rf"\b{path.stem.removeprefix('test_')}\b|\b{path.stem}\b", built):
            continue
        if path.suffix == ".py" and "cli" in path.parts and path.stem.startswith("test_"):
            for name, text in python_tests(path).items():
                found[path.stem.replace("test_", "cli.", 1), name] = text
        if path.suffix == ".c":
            text = path.read_text(encoding="utf-8")
            for suite, name, body in re.findall(r"^PD_TEST\((\w+), (\w+)\) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
                found[suite, name] = body
            # #define GOLDEN(name, ...) PD_TEST(goldens, name) ...: a test in a line.
            for macro, suite in re.findall(r"^#define (\w+)\(name, \.\.\.\)\s*\\\n\s*PD_TEST\((\w+), name\)", text, re.MULTILINE):
                for name, body in re.findall(rf"^{macro}\((\w+), (.*)\)$", text, re.MULTILINE):
                    found[suite, name] = body
    return found


def ctest_names(root):
    """What CMake adds by its own name, such as "consumer"."""
    return {name for path in (root / "tests").glob("*/CMakeLists.txt")
            for name in re.findall(r"^\s*add_test\(NAME ([\w.]+) ", path.read_text(encoding="utf-8"), re.MULTILINE)}


def paths_of(path):
    """What a Python file makes paths of: the texts in os.path.join(...), in open(...), and behind the / of a folder."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("join", "open"):
            found += node.args
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            found.append(node.right)
    return [node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)]


def pages_read(root):
    """The documents that a test opens, or that it is given by CMake or in a script, by their names. A page that help, a comment
    or a list of what is installed names is not read."""
    read = set()
    for path in (root / "tests").glob("*/**/*"):
        if path.suffix == ".py":
            read |= {name.rpartition("/")[2] for name in paths_of(path)}
        elif path.suffix in (".sh", ".txt") and path.parent.name != "build":
            code = re.sub(r"(^|\s)#.*|share/doc/\S+", "", path.read_text(encoding="utf-8"))
            read |= set(re.findall(r"(?:^|[\s\"]|\bdocs/)([\w.-]+\.md)\b", code, re.MULTILINE))
    return {name for name in read if name.endswith(".md")}


def mentions(text, reference):
    """Whether a test's source names the command with its options, or the key, or the word."""
    words = reference.split()
    if words[0] == "pdhost":
        # What a test gives to pdhost without a command is a run.
        is_run = words[1] == "run" and re.search(r"run_small|SMALL|run_pdhost\(|\bRUN\(|parse\(", text)
        return bool(is_run or re.search(rf'"{re.escape(words[1])}"|\bself\.{re.escape(words[1])}\(', text)) and \
            all(re.search(rf'"{re.escape(option)}(?![\w-])', text) for option in words[2:])
    key = re.escape(words[0].rpartition(".")[2])
    if "." not in words[0]:
        return re.search(rf"(?<![A-Za-z0-9]){key}(?!\w)", text) is not None  # M_bandwidth is that column
    # "data.seed=1", "--seed", "table:seed=1", .seed = 1, "seed"
    return words[0] in text or re.search(rf'--{key}\b|[:,"]{key}=|[.>]{key}\b|"{key}"', text) is not None
