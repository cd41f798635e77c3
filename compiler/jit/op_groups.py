"""The groups of ops that `--tf_xla_ops_to_cluster` knows by a name; FUSIBLE is all of them together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from compiler.diagnostics import InputError, did_you_mean
from compiler.tf2xla import RECORDS


def ops_to_cluster(words: Iterable[str]) -> frozenset[str]:
    """The ops that names of groups and of ops stand for.

    Raises:
        InputError: a word is neither.
    """
    ops: set[str] = set()
    for word in words:
        if word == "FUSIBLE":
            ops |= {op for group in GROUPS.values() for op in group}
        elif word in GROUPS:
            ops |= GROUPS[word]
        else:
            ops.add(checked(word, "ops_to_cluster"))
    return frozenset(ops)


def checked(op: str, flag: str) -> str:
    """An op that a flag names.

    Raises:
        InputError: none has that name.
    """
    known = {*RECORDS, *(one for group in GROUPS.values() for one in group)}
    if op not in known:
        said = f"the operation {op!r} passed to --tf_xla_{flag} is not supported by XLA"
        raise InputError(said + did_you_mean(op, [*known, *GROUPS, "FUSIBLE"]))
    return op


_TEXT = {
    "PW": """
        ComplexAbs Angle Conj Abs Acos Acosh Asin Asinh Atan Atanh Ceil Cos Cosh Sin Exp Expm1 Floor IsFinite IsInf
        IsNan Inv Reciprocal Log Log1p Invert LogicalNot Ndtri Neg Rint Round Rsqrt Sigmoid Sign Sinh Softplus Softsign
        Sqrt Square Tan Tanh Real Imag Erf Erfc Erfinv Lgamma Digamma
        Add AddV2 Sub Mul Div Atan2 Complex DivNoNan MulNoNan FloorDiv Xlogy Xlog1py Xdivy FloorMod BitwiseAnd BitwiseOr
        BitwiseXor LeftShift RightShift LogicalAnd LogicalOr Mod Maximum Minimum RealDiv ReciprocalGrad RsqrtGrad
        SqrtGrad TruncateDiv TruncateMod Equal NotEqual Greater GreaterEqual Less LessEqual SigmoidGrad SoftplusGrad
        SoftsignGrad TanhGrad Pow SquaredDifference ApproximateEqual
        AddN Bitcast Cast ClipByValue Const Empty Identity IdentityN Relu Relu6 ReluGrad Relu6Grad LeakyRelu
        LeakyReluGrad Elu EluGrad Selu SeluGrad Select SelectV2 Transpose ConjugateTranspose _UnaryOpsComposition
        CollectiveReduceV2 CollectiveAssignGroupV2
        PlaceholderWithDefault PreventGradient StopGradient Snapshot _EagerConst
    """,
    "RED": "All Any Min Max Mean Prod Sum",
    "PWRED": "ArgMax ArgMin DiagPart Softmax SparseSoftmaxCrossEntropyWithLogits LogSoftmax",
    "REDUCEWINDOW": "ArgMax ArgMin DiagPart Softmax SparseSoftmaxCrossEntropyWithLogits LogSoftmax",
    "REDUCEWINDOWPW": "BiasAddGrad LRN LRNGrad",
    "BN": """
        FusedBatchNorm FusedBatchNormV2 FusedBatchNormV3 _FusedBatchNormEx FusedBatchNormGrad FusedBatchNormGradV2
        FusedBatchNormGradV3
    """,
    "Conv": "_FusedConv2D",
    "SORT": "TopKV2",
    "MISC": """
        BroadcastTo ExpandDims Fill NoOp Range Rank Reshape Shape ShapeN Size Squeeze Transpose ZerosLike OnesLike
        BiasAdd BroadcastArgs BroadcastGradientArgs OneHot Concat ConcatV2 ConcatOffset Const MirrorPad MirrorPadGrad
        Pack Pad PadV2 Reverse ReverseV2 ReverseSequence Slice Split SplitV StridedSlice StridedSliceGrad
        ResourceStridedSliceAssign Tile Transpose InvertPermutation Unpack DeviceIndex TensorStridedSliceUpdate
        XlaConcatND XlaSplitND
    """,
}
GROUPS: Mapping[str, frozenset[str]] = {name: frozenset(text.split()) for name, text in _TEXT.items()}
