"""Where pictures stand in a message."""

from hypothesis import given
from hypothesis import strategies as st

from specvi_agents.messages import IMAGE_MARK, Message, Model, Picture
from specvi_benchmark.traces import ViewRecord

PICTURES = tuple(
    Picture(
        bytes([n]),
        ViewRecord(
            png_sha256=str(n), pixel_sha256="", window_AA=(1, 2), frame="rest", style="clean", size_px=(1, 1)
        ),
    )
    for n in range(3)
)


def test_pictures_stand_where_the_text_marks_them():
    first, second, _ = PICTURES
    assert Message("user", "<image>\nq", (first,)).parts == (first, "\nq")
    assert Message("user", "a<image>b<image>", (first, second)).parts == ("a", first, "b", second)


def test_without_a_mark_for_each_they_come_first():
    first, second, _ = PICTURES
    assert Message("user", "q", (first,)).parts == (first, "q")
    assert Message("user", "", (first, second)).parts == (first, second)
    assert Message("user", "a<image>b", (first, second)).parts == (first, second, "a<image>b")


def test_a_model_may_write_the_mark():
    assert Message("assistant", "see <image>").parts == ("see <image>",)
    assert Message("assistant").parts == ()


@given(
    text=st.lists(st.sampled_from(["a", IMAGE_MARK, "\n"]), max_size=6).map("".join), count=st.integers(0, 3)
)
def test_nothing_is_lost(text, count):
    parts = Message("user", text, PICTURES[:count]).parts
    assert tuple(part for part in parts if isinstance(part, Picture)) == PICTURES[:count]
    words = "".join(part for part in parts if isinstance(part, str))
    assert words in {text, text.replace(IMAGE_MARK, "")}


def test_a_model_is_what_replies():
    class Fine:
        config = {}  # noqa: RUF012

        async def reply(self, messages, *, tools, sample): ...

        async def close(self): ...

    assert isinstance(Fine(), Model)
    assert not isinstance(object(), Model)
