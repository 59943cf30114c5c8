"""Bugs sown into the maps of PMDK's examples (seeds.txt): is each found, as one finding, and does `landfall fix` repair it?

Nothing of PMDK is in the repository: its source folder is the first argument; others choose seeds by their numbers."""
import json, os, re, shutil, subprocess, sys, tempfile, time

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))
landfall = os.environ.get("LANDFALL", f"{top}/target/release/landfall")
limit = os.environ.get("TIME", "60s")


def statements(lines, function):
    """First line and line count of each statement of a function, with its text."""
    head = next(i for i, line in enumerate(lines) if re.match(rf"{function}\(", line))
    end = next(i for i in range(head, len(lines)) if lines[i].startswith("}"))
    for at in range(head, end):
        count = 1
        while not re.search(r"[;{}]\s*(/\*.*\*/)?\s*$", lines[at + count - 1]) and at + count < end:
            count += 1
        yield at, count, lines[at].strip()


def find(lines, function, begins):
    begins, _, number = begins.partition(" #")
    all_of = [s for s in statements(lines, function) if s[2].startswith(begins.strip())]
    return all_of[int(number or 1) - 1]


def sow(text, function, what):
    lines = text.split("\n")
    verb, _, rest = what.partition(" ")
    if verb == "drop":
        at, count, _ = find(lines, function, rest)
        for line in range(at, at + count):
            lines[line] = "\t;" if line == at else ""
    else:
        first, second = rest.split(" | ")
        at, count, _ = find(lines, function, first)
        other, size, _ = find(lines, function, second)

        def with_persist(at, count):
            follows = next(s for s in statements(lines, function) if s[0] == at + count)
            return count + follows[1] if follows[2].startswith("pmemobj_persist") else count

        count, size = with_persist(at, count), with_persist(other, size)
        moved = lines[at:at + count]
        lines[other + size:other + size] = moved
        lines[at:at + count] = []
    return "\n".join(lines)


def run(arguments, **how):
    return subprocess.run(arguments, capture_output=True, text=True, **how)


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: scripts/bench-pmdk --seeded SOURCE [NUMBER...]")
    source = os.path.abspath(sys.argv[1])
    wanted = {int(number) for number in sys.argv[2:]}
    if run([landfall, "pmdk", "show"]).returncode:
        run([landfall, "pmdk", "build", source], check=True)
    examples = f"{source}/src/examples/libpmemobj"
    seeds = [line.split(None, 3) for line in open(f"{here}/seeds.txt") if line.strip() and line[0] != "#"]
    good = 0
    for number, (name, state, function, what) in enumerate(seeds, 1):
        if wanted and number not in wanted:
            continue
        what = what.strip()
        keys, *more = state.split(",")
        flags = [f"-DKEYS={keys}"] + [f"-D{word.upper()}" for word in more]
        with tempfile.TemporaryDirectory() as scratch:
            own = f"hashmap/{name}.c" if name.startswith("hashmap") else f"tree_map/{name}_map.c"
            text = open(f"{examples}/{own}").read()
            seeded = os.path.basename(own)
            with open(f"{scratch}/{seeded}", "w") as file:
                file.write(sow(text, function, what))
            os.mkdir(f"{scratch}/pools")
            includes = [examples, f"{source}/src/examples"] + [f"{examples}/{part}" for part in ("map", "tree_map", "hashmap")]
            flags += ["--pmdk", "-w", f"-DMAP_OPS=MAP_{name.upper()}", f'-DMAP_HEADER="map_{name}.h"']
            flags += [f"-I{include}" for include in includes]
            around = [f"{here}/map.c", f"{examples}/map/map.c", f"{examples}/map/map_{name}.c"]
            run([landfall, "cc", *flags, "-DINIT", *around, f"{examples}/{own}", "-o", "init"], cwd=scratch, check=True)
            asked = [landfall, "check", *flags, "--pm-dir", "pools", "--pm-init", "./init", "--time", limit, "--format", "json"]
            began = time.time()
            checked = run([*asked, *around, seeded], cwd=scratch)
            seconds = time.time() - began
            try:
                found = json.loads(checked.stdout)
            except ValueError:
                print(f"{number:3} {name:14} {function:28} {checked.stderr.strip()[:300]}", flush=True)
                continue
            kinds = " ".join(f"{f['severity']}[{f['kind']}]" for f in found["findings"])
            advice = "; ".join(fix["code"] for f in found["findings"] for fix in f["fix"] if fix.get("code"))
            repaired = "-"
            if found["findings"] and "FIX" not in os.environ:
                fixed = run([landfall, "fix", "--apply", "landfall-out/run.json"], cwd=scratch)
                added = [line[1:].strip() for line in fixed.stdout.splitlines() if line.startswith("+") and not line.startswith("+++")]
                # Nobody's word is taken for it: what was written is checked once more.
                patient = ["300s" if word == limit else word for word in asked]
                again = run([*patient, "--out", "again", *around, seeded], cwd=scratch)
                repaired = "repaired" if (fixed.returncode, again.returncode) == (0, 0) else f"not repaired ({fixed.returncode}, {again.returncode})"
                advice = f"{advice} => {' '.join(added)}"
            one = len(found["findings"]) == 1 and repaired in ("repaired", "-")
            good += one
            limits = " ".join(found["limits"])
            print(f"{number:3} {name:14} {function:28} {what[:34]:34} {found['stats']['runs']:>6} {seconds:6.1f} s  {kinds or found['verdict']} {limits} | {advice} | {repaired}", flush=True)
            if "KEEP" in os.environ:
                shutil.copytree(scratch, os.environ["KEEP"], dirs_exist_ok=True)
    repairs = "no repair was tried" if "FIX" in os.environ else "whose repair was checked"
    print(f"{good} found as one finding, {repairs}")


main()
