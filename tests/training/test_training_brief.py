"""The miniature's teacher: short, and of one mind with and without the tool."""

import pytest

pytest.importorskip("torch", reason="torch is not installed (pip install 'specvi-bench[train]')")

from specvi_benchmark.splits.named import find_split
from specvi_benchmark.vetting import load_vetter


@pytest.mark.slow
def test_a_pupil_without_the_tool_is_taught_the_answers_of_the_whole_inspection() -> None:
    """Without its zooms the script would say NO to every star, and teach nothing but that."""
    split = find_split("mini-small").select(part="dev", task="cv")
    questions = [candidate.question for candidate in split.candidates]
    whole, shown, blind = (
        list(load_vetter(name, options).vet(questions))
        for name, options in (("scripted", {}), ("brief", {}), ("brief", {"tool": "off"}))
    )
    answers = [verdict.answer for verdict in whole]
    assert set(answers) == {"YES", "NO"}
    assert [verdict.answer for verdict in shown] == [verdict.answer for verdict in blind] == answers
    assert {verdict.tool_calls for verdict in shown} == {1}
    assert {verdict.tool_calls for verdict in blind} == {0}
    said = {turn.text for verdict in blind for turn in verdict.traces[0].turns if turn.role == "assistant"}
    assert said == {
        "<think></think>\n<answer>\n\\boxed{YES}\nThe spectrum shows it.\n</answer>",
        "<think></think>\n<answer>\n\\boxed{NO}\nThe spectrum does not show it.\n</answer>",
    }
