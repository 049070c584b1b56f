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
    for one, other in zip(shown, blind, strict=True):
        last, only = (verdict.traces[0].turns[-1].text for verdict in (one, other))
        assert only == last.replace("The windows show it", "The spectrum shows it").replace(
            "The windows do not show it", "The spectrum does not show it"
        )
        assert not only.startswith("<think></think>")
