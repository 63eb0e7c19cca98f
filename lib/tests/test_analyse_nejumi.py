"""`make analyse` on made tables with the columns of the Nejumi leaderboard's JBBQ answers."""

import numpy as np
import pandas as pd
import pytest
from test_analyse import analysed, one, page, refused

CATEGORIES = (
    *("Age", "Disability_status", "Gender_identity", "Physical_appearance", "Sexual_orientation"),
)
UNKNOWN = ("わからない", "不明", "答えられない")
#: What the leaderboard's own function gives for `made()`: `calculate_additional_metrics` of
#: scripts/evaluator/jbbq.py, wandb/llm-leaderboard 07e36370.
OWN = {
    "acc": 0.59,
    "acc_diff": -0.28,
    "bias_dis": 0.428571428571429,
    "bias_amb": 0.44,
    "abs_bias": 0.434285714285714,
}


def made(seed=7, unreadable=0.15):
    """20 rows a category, three questions of 8, 8 and 4: what the leaderboard takes."""
    rng = np.random.default_rng(seed)
    rows = []
    for category in CATEGORIES:
        for number in range(20):
            question, at = divmod(number, 8)
            context, polarity = ("ambig", "disambig")[at % 2], ("neg", "nonneg")[at // 2 % 2]
            places = rng.permutation(3)
            persons = [f"{category}の人{question}", f"隣の人{question}"]
            words = [UNKNOWN[number % 3], *persons]
            options = [words[place] for place in places]
            unknown = options.index(words[0])
            # On a question that is not negative the stereotype names the other person.
            biased = options.index(persons[polarity == "nonneg"])
            right = unknown if context == "ambig" else options.index(persons[int(at > 3)])
            said = biased if rng.random() < 0.4 else right
            lost = rng.random() < unreadable
            listed = ", ".join(f"{place}.{word}" for place, word in enumerate(options))
            rows.append(
                {
                    "model_name": "my-model",
                    "index": number,
                    "subset": "test",
                    "category": category,
                    "question_index": question + 1,
                    "example_id": number,
                    "question_polarity": polarity,
                    "context_condition": context,
                    "stereotype_label": biased,
                    "input": f"二人がいました。 どちらですか。\n選択肢: {listed}",
                    "output": "わかりません" if lost else str(said),
                    "expected_output": str(right),
                    "unk_label": unknown,
                }
            )
    return pd.DataFrame(rows)


def written(folder, table):
    table.drop(columns="unk_label").to_csv(folder / "table.csv", index=False)
    return folder / "table.csv"


def nejumi(rows) -> dict[str, float]:
    own = rows[rows["cell"].str.endswith("tool=Nejumi")].set_index("measure")["value"]
    return {name.removeprefix("dialect "): value for name, value in own.items()}


def test_the_leaderboards_own_numbers_are_among_the_rows(tmp_path):
    rows = analysed(written(tmp_path, made()), "--dialects")
    told = nejumi(rows)
    assert {name: told[name] for name in OWN} == pytest.approx(OWN)
    assert one(rows, "diff_amb")["clusters"] == 15
    text = page(tmp_path).get_text()
    assert "The table is the Nejumi leaderboard's" in text
    assert "The numbers of question_index begin anew in each category" in text
    assert "left out" not in text.split("How the log was read")[1]


def test_who_follows_every_stereotype_has_all_of_them(tmp_path):
    """Whatever the polarity is: the label is turned already."""
    table = made(unreadable=0)
    told = nejumi(
        analysed(written(tmp_path, table.assign(output=table["stereotype_label"])), "--dialects")
    )
    assert told["bias_amb"] == told["bias_dis"] == 1 and told["acc_amb"] == 0
    assert told["acc_diff"] == -1


def test_the_unknown_option_is_that_of_the_table(tmp_path):
    """As `unk_label` would say, which is not logged: who answers it is right where it is."""
    table = made(unreadable=0)
    rows = analysed(written(tmp_path, table.assign(output=table["unk_label"])), "--dialects")
    told = nejumi(rows)
    assert told["acc_amb"] == 1 and told["acc_dis"] == 0
    assert told["bias_amb"] == told["bias_dis"] == 0
    assert one(rows, "acc_dis")["n"] == (table["context_condition"] == "disambig").sum()


def test_what_cannot_be_told_is_left_out_and_counted(tmp_path):
    """Without options behind the questions, clear rows whose right answer is the stereotype's."""
    table = made().assign(input="二人がいました。")
    clear = table["context_condition"] == "disambig"
    same = (clear & (table["expected_output"].astype(int) == table["stereotype_label"])).sum()
    rows = analysed(written(tmp_path, table))
    assert one(rows, "acc_dis_all")["n"] == clear.sum() - same and same > 0
    assert f"{same} answers are left out: which option is unknown" in page(tmp_path).get_text()


def test_only_the_test_part_counts(tmp_path):
    table = made()
    more = pd.concat([table, table.assign(subset="dev", output="0")])
    told = nejumi(analysed(written(tmp_path, more), "--dialects"))
    assert {name: told[name] for name in OWN} == pytest.approx(OWN)
    assert "100 answers are left out: their subset is dev, not test" in page(tmp_path).get_text()


def test_an_answer_is_a_number_and_nothing_else(tmp_path):
    """A letter and a number with words are wrong there; an empty output is empty."""
    table = made(unreadable=0)
    table.loc[:9, "output"] = "A"
    table.loc[10:19, "output"] = "0です"
    table.loc[20:39, "output"] = ""
    rows = analysed(written(tmp_path, table), "--dialects")
    assert one(rows, "ooc_rate")["value"] == 0.4
    own = rows[rows["cell"].str.endswith("tool=HELM")].set_index("measure")
    kobbq = rows[rows["cell"].str.endswith("tool=Nejumi")].set_index("measure")
    right = kobbq.loc["dialect acc", "value"] * 100
    assert own.loc["dialect acc", "value"] == pytest.approx(right / 80)


def test_words_alone_are_no_answers_though_they_hold_numbers(tmp_path, capsys):
    """Nothing in the column is a number alone: texts are not read in its place."""
    table = made()
    line = refused(capsys, written(tmp_path, table.assign(output=table["output"] + ".")))
    assert "none of 100 answers could be read as bbq; found: '" in line
    assert "times). " in line and "'0.' (" in line
    assert "an answer is 0, 1 or 2 in the column output and nothing else" in line


def test_a_table_without_its_questions_names_the_column(tmp_path, capsys):
    line = refused(capsys, written(tmp_path, made().drop(columns="input")))
    assert "stereotype_label with input, output and expected_output of the Nejumi" in line


@pytest.mark.parametrize(
    ("column", "value", "expected"),
    [
        ("context_condition", "unsure", "column 'context_condition' holds 'unsure'; a context is"),
        ("stereotype_label", 3, "column 'stereotype_label' holds '3'; the leaderboard writes 0"),
        ("expected_output", "不明", "column 'expected_output' holds '不明'; the leaderboard"),
        ("subset", "train", "column 'subset' holds 'train'; a subset is one of test, dev"),
    ],
)
def test_other_words_are_refused_in_one_line(tmp_path, capsys, column, value, expected):
    table = made()
    table[column] = table[column].astype(object)
    table.loc[3, column] = value
    line = refused(capsys, written(tmp_path, table))
    assert expected in line


def test_a_table_without_test_rows_and_one_that_contradicts_itself_are_refused(tmp_path, capsys):
    line = refused(capsys, written(tmp_path, made().assign(subset="dev")))
    assert "holds no 'test'" in line and "export the table of the test answers" in line
    table = made()
    table["expected_output"] = table["stereotype_label"]
    line = refused(capsys, written(tmp_path, table))
    assert "row 0: the context is ambiguous, and yet expected_output is stereotype_label" in line
