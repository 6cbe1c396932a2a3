"""RemyCCs and learnt policies beside Cubic and BBR: inside a model, around it, and where each is worst.

    python benches/policies.py [FOLDER] [SEEDS]

For each seed a policy is learnt, as examples/learn.py does, and a RemyCC is designed, each in about a minute of both cores
of a small machine. All are scored over TCP on the same held-out networks: of the model, and of one whose rates and RTTs
are a factor of four wider on each side. `falsify` then searches the networks on which each falls furthest behind Cubic, and
Cubic behind BBR. Results are kept in FOLDER, where a run that was stopped goes on.
"""

import json
import sys
from pathlib import Path

import numpy as np

import tcpexmachina as em

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))
from learn import learn

MODEL = em.Model.load("general-delta1")
AROUND = em.Model(MODEL.text.replace('"10..20 Mbps"', '"2.5..80 Mbps"').replace('"100..200 ms"', '"25..800 ms"'))
assert AROUND.text.count("..") == MODEL.text.count("..") and AROUND != MODEL
STEPS, SPECIMENS, TRIES = 30, 128, 100
NAMES = ["RemyCC", "learnt", "cubic", "bbr"]


def contenders(seed, folder):
    """The four, of which two are made of the seed."""
    table, policy = folder / f"{seed}.json", folder / f"{seed}.policy"
    if not policy.exists():
        learn(seed).save(policy)
    if not table.exists():
        em.design(MODEL, steps=STEPS, seed=seed).save(table)
    return [str(table), str(policy), "cubic", "bbr"]


def measured(seed, folder):
    """The scores of the four inside and around the model, and how far each falls behind."""
    file = folder / f"{seed}.results"
    if not file.exists():
        them = contenders(seed, folder)
        results = {}
        for name, model in {"inside": MODEL, "around": AROUND}.items():
            scores = em.score(them, model, specimens=SPECIMENS, seed=seed, host="tcp")
            results[name] = list(scores.contenders.relative)
        results["worst"] = []
        for one in them:
            against = "bbr" if one == "cubic" else "cubic"
            found = em.falsify(one, against, model=MODEL, tries=TRIES, seed=seed)
            results["worst"].append(-found[0].deficit if found else 0.0)
        file.write_text(json.dumps(results))
    return json.loads(file.read_text())


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "policies")
    folder.mkdir(exist_ok=True)
    seeds = range(1, 1 + int(sys.argv[2] if len(sys.argv) > 2 else 5))
    results = [measured(seed, folder) for seed in seeds]
    print("| | " + " | ".join(results[0]) + " |")
    for number, name in enumerate(NAMES):
        values = np.array([[result[column][number] for column in result] for result in results])
        cells = [f"{np.mean(x):.2f} ({min(x):.2f} to {max(x):.2f})" for x in values.T]
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
