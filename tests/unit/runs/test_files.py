"""What a run's folder holds can be read by other tools, whatever the data was called."""

import csv
import json
import random
from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

import judge
from judge.errors import InputError
from judge.files.json_text import dump_json
from judge.messages import Message
from judge.runs.folder import RunFolder
from judge.runs.record_json import to_json
from judge.runs.results_file import CleanedText


def make_rows(seed: int) -> list[dict[str, object]]:
    """Three engines that share pages, repeat themselves and sometimes return less."""
    chance = random.Random(seed)
    filler = ["anaemia", "puppy", "signs", "gums", "food", "walk", "cat"]
    return [
        {
            "query_id": f"q{q}", "query": "signs of anaemia in a puppy", "engine": engine, "rank": rank,
            "snippet": " ".join(chance.choices(filler, k=6)), "docno": f"D{chance.randrange(12)}",
        }
        for q in range(6)
        for engine in ("a", "b", "c")
        for rank in range(1, chance.randrange(2, 9))
    ]  # fmt: skip


def make_unambiguous(given: list[dict[str, object]]) -> list[dict[str, object]]:
    """The rows with one text for each document of a query, which is what qrels can say."""
    text: dict[tuple[object, object], object] = {}
    return [
        {**row, "snippet": text.setdefault((row["query_id"], row["docno"]), row["snippet"])} for row in given
    ]


@pytest.mark.parametrize("seed", range(3))
def test_trec_eval_gives_the_run_s_own_scores(tmp_path: Path, seed: int) -> None:
    import pytrec_eval

    out = tmp_path / "runs" / "x"
    measures = ["nDCG@10", "AP@10", "P@5", "RR@10", "R@5"]
    outcome = judge.run(make_unambiguous(make_rows(seed)), model="lexical", out=str(out), measures=measures)
    qrels: dict[str, dict[str, int]] = defaultdict(dict)
    for line in (out / "qrels.txt").read_text().splitlines():
        query, _, docno, grade = line.split()
        qrels[query][docno] = int(grade)
    ours = {(row.engine, row.query_id, row.measure): row.value for row in outcome.scores.to_records()}
    compared = 0
    for engine in ("a", "b", "c"):
        listed: dict[str, dict[str, float]] = defaultdict(dict)
        for line in (out / f"run.{engine}.trec").read_text().splitlines():
            query, _, docno, _, score, tag = line.split()
            assert tag == engine
            assert docno not in listed[query]
            listed[query][docno] = float(score)
        graded = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"}).evaluate(listed)
        binary = pytrec_eval.RelevanceEvaluator(
            qrels, {"map_cut.10", "P.5", "recip_rank", "recall.5"}, relevance_level=2
        ).evaluate(listed)
        for query in listed:
            theirs = {**graded[query], **binary[query]}
            names = ("ndcg_cut_10", "map_cut_10", "P_5", "recip_rank", "recall_5")
            for name, measure in zip(names, measures, strict=True):
                value = ours[engine, query, measure]
                if value is None:
                    assert theirs[name] == 0
                else:
                    assert value == pytest.approx(theirs[name], abs=1e-12)
                    compared += 1
    assert compared > 40


def test_hostile_names_and_texts_stay_data(tmp_path: Path) -> None:
    odd = "half \ud83d, \u2028 line, \x1b[31m, =1+1, </script>"
    given = [
        {
            "query_id": query,
            "query": f"query of {query}",
            "engine": engine,
            "snippet": odd,
            "title": odd,
            "url": odd,
        }
        for query in ("=cmd", "-1", "日本 x", "con")
        for engine in ("=A1", "Bing", "bing", "必应 x", "a%2e", "+e")
    ]
    out = tmp_path / "runs" / "x"
    judge.run(given, model="lexical", out=str(out))
    assert {path.parent for path in tmp_path.rglob("*") if path.is_file()} <= {
        out, out.parent, out.parent / "verdicts.sqlite.locks"
    }  # fmt: skip
    assert len(list(out.glob("run.*.trec"))) == 6
    assert len({path.name.casefold() for path in out.iterdir()}) == len(list(out.iterdir()))
    content = json.loads((out / "results.json").read_text(encoding="utf-8"))
    snippet = content["queries"][0]["engines"]["Bing"]["snippets"][0]
    assert (snippet["snippet"], snippet["title"], snippet["url"]) == (odd, odd, odd)
    with (out / "scores.csv").open(encoding="utf-8", newline="") as file:
        table = list(csv.reader(file))
    assert len(table) == 1 + 4 * 6 * 5
    assert all(cell.lstrip()[:1] not in ("=", "+", "-", "@", "\t") for row in table for cell in row)
    assert {row[0].removeprefix("'") for row in table[1:]} == {row["engine"] for row in given}
    text = (out / "judgments.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == text.count("\n")
    for line in (out / "run.Bing.trec").read_text(encoding="utf-8").splitlines():
        assert len(line.split()) == 6


def test_json_lines_survive_every_reader() -> None:
    odd = {"text": "\u2028\u2029\x85\x7f\ud800 中文 \U0001f600 \u202e"}
    line = dump_json(odd)
    assert line.splitlines() == [line]
    assert json.loads(line) == odd
    assert "中文" in line
    line.encode("utf-8")
    with pytest.raises(ValueError, match="JSON compliant"):
        dump_json(float("nan"))


def test_half_a_surrogate_pair_stays_in_the_json_of_a_record() -> None:
    text = CleanedText(title=Message("{name}", name="\ud800"), snippet="é\udfff")
    assert to_json(text) == {"title": "\ud800", "snippet": "é\udfff"}


def test_a_value_that_json_does_not_have_is_refused() -> None:
    with pytest.raises(TypeError):  # a text such as "0.5" would stand in the file
        to_json(CleanedText(title=Fraction("0.5"), snippet=""))  # type: ignore[arg-type]


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write("a.txt", ["old"])

    def write_until_error() -> object:
        yield "new"
        raise RuntimeError("the disk, say")

    with pytest.raises(RuntimeError):
        folder.write("a.txt", write_until_error())  # type: ignore[arg-type]
    assert (tmp_path / "a.txt").read_text() == "old"


def test_what_is_no_run_is_said_to_be_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the folder of a finished run"):
        RunFolder(tmp_path).read("results.json")
    with pytest.raises(InputError, match="the folder of a finished run"):
        judge.score(tmp_path / "typo")
    assert not (tmp_path / "typo").exists()
    (tmp_path / "config.json").write_text("{}")
    # A run that is killed while its files are written has no results.json.
    (tmp_path / "summary.json").write_text("{}")
    with pytest.raises(InputError, match=r"results.json: No such file or directory; the run is not finished"):
        judge.score(tmp_path, save=True)
    assert not (tmp_path / ".lock").exists()
    with pytest.raises(InputError, match=r"config.json' is not the folder of a finished run: name one"):
        judge.score(tmp_path / "config.json")
    (tmp_path / "results.json").write_text("{")
    with pytest.raises(InputError, match="is not JSON"):
        judge.score(tmp_path)
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(InputError, match=r"results\.json: field 'queries' is None, not a list"):
        judge.score(tmp_path)
    (tmp_path / "results.json").write_text('{"schema": 2, "queries": []}')
    with pytest.raises(InputError, match=r"results\.json: field 'summary' is None, not an object"):
        judge.score(tmp_path)
