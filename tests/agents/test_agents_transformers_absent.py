"""Without torch the core works, a local model is refused with the pip command, and a server can be joined."""

import subprocess
import sys

WITHOUT = (
    "import sys\nfor name in ('torch', 'transformers', 'tokenizers', 'vllm'): sys.modules[name] = None\n"
)


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + code], check=True, capture_output=True, text=True
    ).stdout


def test_a_local_model_says_what_to_install() -> None:
    code = (
        "from specvi_benchmark.errors import UserError\nfrom specvi_benchmark.vetting import load_vetter\n"
        "try: load_vetter('transformers:folder')\nexcept UserError as error: print(error)\n"
    )
    assert "pip install 'specvi-bench[train]'" in run(code)


def test_a_running_vllm_server_is_joined_with_the_core_alone() -> None:
    code = (
        "from specvi_benchmark.vetting import load_vetter\n"
        "options = {'base_url': 'http://localhost:8000/v1'}\n"
        "print(load_vetter('vllm:my-model', options).config['model']['base_url'])\n"
    )
    assert run(code).strip() == "['http://localhost:8000/v1']"
