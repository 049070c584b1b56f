from hypothesis import given
from hypothesis import strategies as st

from specvi_leaderboard.ranking import Place, Point, rank


def test_a_chain_of_overlaps_is_not_one_tie():
    # A overlaps B and B overlaps C, but A lies wholly above C.
    places = rank({"C": Point(0.5, 0.4, 0.6), "A": Point(0.8, 0.7, 0.9), "B": Point(0.65, 0.55, 0.75)})
    assert places == (
        Place("A", 1, 2, ("B",)),
        Place("B", 1, 3, ("A", "C")),
        Place("C", 2, 3, ("B",)),
    )


def test_separate_intervals_give_plain_ranks():
    places = rank({"low": Point(0.1, 0.0, 0.2), "high": Point(0.9, 0.8, 1.0), "mid": Point(0.5, 0.4, 0.6)})
    assert [(p.system, p.best, p.worst, p.tied_with) for p in places] == [
        ("high", 1, 1, ()),
        ("mid", 2, 2, ()),
        ("low", 3, 3, ()),
    ]


def test_intervals_that_touch_are_tied():
    places = rank({"a": Point(0.6, 0.5, 0.7), "b": Point(0.4, 0.3, 0.5)})
    assert {(p.best, p.worst) for p in places} == {(1, 2)}


def test_equal_scores_stand_in_the_order_of_names():
    same = Point(0.5, 0.4, 0.6)
    assert [p.system for p in rank({"b": same, "c": same, "a": same})] == ["a", "b", "c"]


def test_no_system_no_place():
    assert rank({}) == ()


points = st.lists(st.floats(0, 1), min_size=3, max_size=3).map(
    lambda values: Point(sorted(values)[1], min(values), max(values))
)


@given(st.dictionaries(st.text(min_size=1), points, max_size=8))
def test_a_place_in_the_order_lies_within_the_range_and_ties_are_mutual(scores):
    places = rank(scores)
    tied = {place.system: set(place.tied_with) for place in places}
    assert sorted(scores) == sorted(tied)
    for position, place in enumerate(places, start=1):
        assert 1 <= place.best <= position <= place.worst <= len(scores)
        assert place.worst - place.best == len(place.tied_with)
        assert all(place.system in tied[other] for other in place.tied_with)
