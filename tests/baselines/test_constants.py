"""The constants, and what every vetter without options refuses."""

import numpy as np
import pytest

from specvi_benchmark.errors import UserError
from specvi_benchmark.spectrum import clean_spectrum
from specvi_benchmark.tasks import get_task
from specvi_benchmark.vetting import Question, Vetter, load_vetter

NAMES = ("always-yes", "always-no", "rules")


@pytest.mark.parametrize("name", NAMES)
def test_found_by_name_and_is_a_vetter(name):
    assert isinstance(load_vetter(name), Vetter)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("spec", "options"), [("{}:deep", {}), ("{}", {"threshold": "5"})])
def test_arguments_and_options_are_refused(name, spec, options):
    with pytest.raises(UserError, match=name):
        load_vetter(spec.format(name), options)


@pytest.mark.parametrize(("name", "answer"), [("always-yes", "YES"), ("always-no", "NO")])
def test_one_answer_to_everything(name, answer):
    spectrum = clean_spectrum([4000.0, 5000.0, 6000.0], [1.0, 2.0, 3.0])
    questions = [Question(str(number), get_task(task), spectrum) for number, task in enumerate(("cv", "qso"))]
    verdicts = list(load_vetter(name).vet(questions))
    assert [(one.id, one.task, one.answer, one.p_yes) for one in verdicts] == [
        ("0", "cv", answer, None),
        ("1", "qso", answer, None),
    ]


def test_configs_tell_the_systems_apart():
    configs = [load_vetter(name).config for name in NAMES]
    assert configs[0] == {"answer": "YES"}
    assert configs[1] == {"answer": "NO"}
    assert np.all([configs[i] != configs[j] for i in range(3) for j in range(i)])
