"""Settings of a policy."""

from __future__ import annotations

from dataclasses import InitVar, dataclass
from typing import TYPE_CHECKING, Literal, get_args

from dynaroute.base.errors import ModelError
from dynaroute.base.vocabulary import PolicyRule

KindName = Literal["AM-D", "AM"]
Normalisation = Literal["tanh", "batch"]

_TITLES: dict[KindName, str] = {"AM-D": "dynamic (AM-D)", "AM": "static (AM)"}

# Far beyond any policy: a file with larger values is damaged, and would exhaust memory.
_LARGEST_COUNTS = {"dimension": 1 << 16, "heads": 1 << 16, "layers": 1000, "feed_forward": 1 << 20}
_SWITCHES = ("dynamic", "scaled", "shrinking_mean", "logit_query", "distance_bias", "edge_scores")
_KIND_REMEDY = "Leave out dynamic. In the class of your own kind, you may say dynamic = False."
_LARGEST_CLIP = 1e6  # infinite logits would look like infeasible nodes


@dataclass(frozen=True)
class PolicyConfig:
    """Settings of an attention model; the defaults are the paper's AM-D.

    A subclass for a kind of your own names it in ``kind``, and inherits everything else. It is dynamic like AM-D unless
    it says ``dynamic = False``.

    Attributes
    ----------
    kind
        "AM-D" encodes the remaining nodes again at each return to the depot (eqs 22, 23); "AM" encodes an instance
        once.
    dimension
        d_h, dimension of node embeddings.
    heads
        M, number of heads of every multi-head attention.
    layers
        N, number of encoder layers.
    feed_forward
        d_F, inner width of the feed-forward sub-layer.
    clip
        C of eq 19, which bounds the logits.
    dynamic
        Whether the remaining nodes are encoded again, which follows from the kind; ``PolicyConfig(dynamic=False)`` is
        another way to say AM.
    scaled
        Whether attention scores are divided by the square root of the head dimension; the paper's are not.
    normalisation
        What follows each sub-layer: tanh (eqs 8, 10), or batch normalisation (AM).
    depot_features
        3 for position and demand, as in eq 2; 2 for position only (AM).
    shrinking_mean
        Whether the graph embedding is the mean over unvisited nodes (eq 12), or over all (AM).
    logit_query
        Whether the final query has its own matrix W^Q (eq 18), or h_c is the query (AM).
    distance_bias
        Whether the decoder sees the distance to each node (`decoder.log_distances`), with learned weights. Not in the
        paper.
    edge_scores
        Whether the final scores also compare each node with the last visited one and the remaining capacity directly
        (`Decoder.logits`), not only through the heads. Not in the paper.
    rules
        Names of the rules beyond capacity that the policy knows, in alphabetical order; it takes any problem that has
        some of them. Not in the paper.
    """

    dimension: int = 128
    heads: int = 8
    layers: int = 3
    feed_forward: int = 512
    clip: float = 10.0
    if TYPE_CHECKING:
        dynamic: bool | None = None  # a type checker would not let it be read otherwise
    else:
        dynamic: InitVar[bool | None] = None
    scaled: bool = False
    normalisation: Normalisation = "tanh"
    depot_features: int = 3
    shrinking_mean: bool = True
    logit_query: bool = True
    distance_bias: bool = False
    edge_scores: bool = False
    rules: tuple[PolicyRule, ...] = ()
    kind: KindName = None  # type: ignore[assignment]  # follows from `dynamic` if not given

    def __post_init__(self, dynamic: bool | None = None) -> None:  # noqa: RUF033 (a subclass may have a field of this name)
        if self.kind is None:
            # a subclass may name its kind without being a dataclass itself
            own = type(self).kind or ("AM" if dynamic is False else "AM-D")
            object.__setattr__(self, "kind", own)
        # a user's own kind has its own settings, which say what it is
        if type(self) is PolicyConfig and self.kind not in get_args(KindName):
            raise ModelError.about("kind", f"the kind is {self.kind!r}.", f"Use {' or '.join(get_args(KindName))}.")
        if dynamic is not None and dynamic is not self.dynamic:
            raise ModelError.about("dynamic", f"dynamic is {dynamic!r}, but the kind is {self.kind}.", _KIND_REMEDY)
        for field, largest in _LARGEST_COUNTS.items():
            value = getattr(self, field)
            if type(value) is not int or not 1 <= value <= largest:
                raise ModelError.about(field, f"{field} is {value!r}.", f"Give a whole number from 1 to {largest}.")
        for field in _SWITCHES:
            value = getattr(self, field)
            if type(value) is not bool:
                raise ModelError.about(field, f"{field} is {value!r}.", "Use true or false.")
        if self.dimension % self.heads:
            raise ModelError.about(
                "heads", f"the dimension {self.dimension} is not divisible by {self.heads} heads.", "Use a divisor."
            )
        if type(self.clip) not in (int, float) or not 0 < self.clip <= _LARGEST_CLIP:
            raise ModelError.about(
                "clip", f"clip is {self.clip!r}.", f"Give a number above 0, up to {_LARGEST_CLIP:g}."
            )
        if self.normalisation not in get_args(Normalisation):
            raise ModelError.about("normalisation", f"normalisation is {self.normalisation!r}.", "Use tanh or batch.")
        if type(self.depot_features) is not int or self.depot_features not in (2, 3):
            raise ModelError.about("depot_features", f"depot_features is {self.depot_features!r}.", "Use 2 or 3.")
        self._read_rules()
        if self.dynamic and self.normalisation == "batch":
            # visited nodes are dropped from the input, which would change batch statistics
            raise ModelError.about(
                "dynamic", "a dynamic policy cannot use batch normalisation.", "Use tanh, or dynamic = False."
            )

    def _read_rules(self) -> None:
        """Bring the names of rules in order."""
        if not isinstance(self.rules, list | tuple | set | frozenset):
            raise ModelError.about("rules", f"rules are {self.rules!r}.", "Give a list of names.")
        known = get_args(PolicyRule)
        for name in self.rules:
            if name not in known:
                raise ModelError.about("rules", f"the rule {name!r} is unknown.", f"Known ones are {', '.join(known)}.")
        object.__setattr__(self, "rules", tuple(sorted(set(self.rules))))
        if self.rules and (self.kind != "AM-D" or self.depot_features != 3):
            raise ModelError.about("rules", "only the paper's dynamic policy can have rules.", "Use AM-D, or no rules.")

    @classmethod
    def am(cls) -> PolicyConfig:
        """Return the settings of the published attention model (Kool et al. 2019)."""
        return cls(
            kind="AM",
            scaled=True,
            normalisation="batch",
            depot_features=2,
            shrinking_mean=False,
            logit_query=False,
        )

    @property
    def title(self) -> str:
        """Description of the kind."""
        return _TITLES.get(self.kind, self.kind)

    def describe(self) -> str:
        """Describe the most important settings, and those that are not in the paper."""
        beyond = {"distances": self.distance_bias, "edge scores": self.edge_scores}
        shape = f"{self.layers} layers, dimension {self.dimension}, {self.heads} heads"
        rules = [f"rules {' '.join(self.rules)}"] if self.rules else []
        return ", ".join([self.title, shape, *(name for name, is_on in beyond.items() if is_on), *rules])

    @property
    def head_dimension(self) -> int:
        """d_k = d_v = d_h / M."""
        return self.dimension // self.heads

    @property
    def attention_scale(self) -> float:
        """Factor on the scores of eqs 4 and 14."""
        return float(self.head_dimension**-0.5) if self.scaled else 1.0

    @property
    def logit_scale(self) -> float:
        """Factor on the scores of eq 19."""
        return float(self.dimension**-0.5) if self.scaled else 1.0


# only given, never stored: the kind decides
PolicyConfig.dynamic = property(lambda config: config.kind != "AM")  # type: ignore[assignment]
