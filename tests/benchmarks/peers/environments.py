"""The peers of `throughput`: packages with their versions, and an environment for each."""

import hashlib
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

DEFAULT_FOLDER = Path.home() / ".cache" / "search-judge-benchmarks"


@dataclass(frozen=True)
class Peer:
    """A module of this folder that drives a peer, and the packages that it needs."""

    module: str
    packages: tuple[str, ...]


PEERS = {
    "LangChain": Peer("langchain_openai", ("langchain-openai==1.7.3",)),
    "LiteLLM": Peer("litellm", ("litellm==1.106.2",)),
    "RAGElo": Peer("ragelo", ("ragelo==0.7.0",)),
    "Inspect": Peer("inspect_ai", ("inspect_ai==0.3.285", "openai")),
    "DeepEval": Peer("deepeval", ("deepeval==4.3.1",)),
}
#: What keeps the peers from sending telemetry, looking for updates, and loading price lists.
QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES",
    "DEEPEVAL_UPDATE_WARNING_OPT_OUT": "YES",
    "DO_NOT_TRACK": "1",
    "LANGCHAIN_TRACING_V2": "false",
    "LANGSMITH_TRACING": "false",
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
}


class AbsentPeer(Exception):
    """The environment of a peer cannot be made; the text says why."""


def make_environment(peer: Peer, folder: Path) -> Path:
    """Return the Python of the peer's environment in `folder`, which is made once for its packages."""
    digest = hashlib.sha256(" ".join(peer.packages).encode()).hexdigest()[:8]
    environment = folder / f"{peer.module}-{digest}"
    python = environment / "bin" / "python"
    complete = environment / "complete"
    if complete.exists():
        return python
    shutil.rmtree(environment, ignore_errors=True)
    try:
        subprocess.run(["uv", "venv", "-q", str(environment)], check=True, capture_output=True, text=True)
        install = ["uv", "pip", "install", "-q", "--compile-bytecode", "--python", str(python)]
        subprocess.run([*install, *peer.packages], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise AbsentPeer("uv is not installed: pip install uv") from None
    except subprocess.CalledProcessError as error:
        raise AbsentPeer(f"{' '.join(error.cmd[:3])} failed: {error.stderr.strip()[-300:]}") from None
    complete.touch()
    return python
