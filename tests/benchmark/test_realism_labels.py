"""Label lists: what they say, what is refused, and how objects are halved."""

from pathlib import Path

import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.realism.labels import halves, read_labels

HEADER = "path,class,object,origin,source,medium,resolution_AA,redshift,row\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.csv", "b.csv", "c.csv"):
        (tmp_path / name).write_text("spectrum")
    return tmp_path


def write(folder: Path, text: str, name: str = "labels.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_is_read(folder):
    write(
        folder,
        HEADER + "a.csv,k-dwarf|gk-giant,HD 1,library,a book,air,2.5,0.1,3\nb.csv,cv,U Gem,survey,eye,,,,\n",
    )
    first, second = read_labels([folder], [])
    assert first.path == folder / "a.csv"
    assert first.classes == {"k-dwarf", "gk-giant"}
    assert first.class_name == "gk-giant|k-dwarf"
    assert (first.medium, first.resolution_AA, first.redshift, first.row) == ("air", 2.5, 0.1, 3)
    assert (second.object, second.origin, second.source) == ("U Gem", "survey", "eye")
    assert (second.medium, second.resolution_AA, second.redshift, second.row) == (None, None, 0, None)


def test_yaml_says_the_same(folder, tmp_path_factory):
    text = "spectra:\n  - {path: a.csv, class: cv, object: U Gem, origin: survey, source: eye}\n"
    listed = write(tmp_path_factory.mktemp("elsewhere"), text, "labels.yaml")
    (label,) = read_labels([folder], [listed])
    assert (label.path, label.class_name, label.object) == (folder / "a.csv", "cv", "U Gem")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("file,star\na.csv,HD 1\n", "not a list of labels"),
        (HEADER + "a.csv,cv,U Gem,heaven,eye,,,,\n", "fault"),
        (HEADER + "a.csv,,U Gem,survey,eye,,,,\n", "fault"),
        (HEADER + "a.csv,cv,U Gem,survey,eye,,-1,,\n", "fault"),
        (HEADER + "a.csv,cv,U Gem,survey,eye,water,,,\n", "fault"),
        (HEADER + "a.csv,cv,U Gem,survey,eye,,,,,,\n", "too many fields"),
        (HEADER + "z.csv,cv,U Gem,survey,eye,,,,\n", "is not there"),
        (HEADER + "a.csv,cv,U Gem,survey,eye,,,,\nb.csv,wd,U Gem,survey,eye,,,,\n", "two classes"),
        (HEADER + "a.csv,cv,U Gem,survey,eye,,,,\na.csv,cv,U Gem,survey,eye,,,,\n", "labelled twice"),
        (HEADER, "no labelled spectrum"),
    ],
)
def test_faults_are_told(folder, text, what):
    write(folder, text)
    with pytest.raises(UserError, match=what):
        read_labels([folder], [])


def test_a_missing_folder_and_a_missing_list_are_told(folder):
    with pytest.raises(UserError, match="no such folder"):
        read_labels([folder / "nowhere"], [])
    with pytest.raises(UserError, match="no such file"):
        read_labels([folder], [])


def test_a_file_in_two_folders_is_refused(folder):
    other = folder / "other"
    other.mkdir()
    (other / "a.csv").write_text("spectrum")
    listed = write(folder, HEADER + "a.csv,cv,U Gem,survey,eye,,,,\n")
    with pytest.raises(UserError, match="in two folders"):
        read_labels([folder, other], [listed])


def test_halves_are_even_in_every_class_and_do_not_hang_on_the_order(folder):
    rows = []
    for name, count in (("cv", 7), ("m-giant", 4), ("galaxy", 1)):
        for number in range(count):
            (folder / f"{name}{number}.csv").write_text("spectrum")
            rows.append(f"{name}{number}.csv,{name},{name} {number},survey,eye,,,,\n")
    write(folder, HEADER + "".join(rows))
    labels = read_labels([folder], [])
    side = halves(labels)
    for name, held_out in (("cv", 4), ("m-giant", 2), ("galaxy", 1)):
        mine = [side[label.object] for label in labels if label.class_name == name]
        assert mine.count("held-out") == held_out
    assert halves(labels[::-1]) == side


def test_spectra_of_one_object_are_in_one_half(folder):
    write(
        folder,
        HEADER
        + "a.csv,cv,U Gem,survey,eye,,,,\nb.csv,cv,U Gem,survey,eye,,,,\nc.csv,cv,SS Cyg,survey,eye,,,,\n",
    )
    side = halves(read_labels([folder], []))
    assert sorted(side) == ["SS Cyg", "U Gem"]
    assert sorted(side.values()) == ["held-out", "open"]
