"""Which ops, and which of their types, TensorFlow has no compiled kernel for, though a record lowers them here.

A cluster that TensorFlow would not make is no answer to what it would compile; where everything runs compiled, as one
by one on a device of XLA's, the records say what there is.  It is that of release 2.21's `XLA_CPU_JIT` kernels, which
`tests/peers` compares with an installed TensorFlow.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.graph import BY_NAME, DataType, Node

_NEVER = """
    _Arg _Retval Placeholder PlaceholderV2 VarHandleOp Switch Merge _SwitchN Enter Exit NextIteration LoopCond
    XlaClusterOutput Print PrintV2 PyFunc PyFuncStateless EagerPyFunc SaveV2 RestoreV2
    ScalarSummary HistogramSummary ImageSummary MergeSummary Where Unique NonMaxSuppressionV3 StringFormat
    CropAndResize CropAndResizeGradImage CropAndResizeGradBoxes SparseSegmentSum SparseSegmentMean SparseSegmentSqrtN
    SparseTensorDenseMatMul
    BatchNormWithGlobalNormalization
    RefSwitch RefMerge RefIdentity RefEnter RefExit RefNextIteration CountUpTo
    Assign AssignAdd AssignSub IsVariableInitialized Variable VariableV2 ResourceGatherNd
    ScatterAdd ScatterSub ScatterMul ScatterDiv ScatterMin ScatterMax ScatterUpdate
    ApplyAdadelta ApplyAdagrad ApplyAdagradV2 ApplyAdam ApplyCenteredRMSProp ApplyGradientDescent ApplyMomentum
    ApplyRMSProp SparseApplyAdagrad SparseApplyAdagradV2 SparseApplyCenteredRMSProp SparseApplyMomentum
    SparseApplyRMSProp ResourceSparseApplyAdagrad ResourceSparseApplyAdagradV2 ResourceSparseApplyCenteredRMSProp
    ResourceSparseApplyKerasMomentum ResourceSparseApplyMomentum ResourceSparseApplyRMSProp
    CheckNumericsV2 CollectiveGather CollectiveGatherV2 CollectiveReduce InTopK InvGrad MatrixDeterminant
    ScaleAndTranslate ScaleAndTranslateGrad LogMatrixDeterminant EuclideanNorm
    BesselI0 BesselI1 BesselJ0 BesselJ1 BesselK0 BesselK0e BesselK1 BesselK1e BesselY0 BesselY1
    Dawsn Expint FresnelCos FresnelSin Spence
    ResizeBicubic ResizeBicubicGrad ResizeNearestNeighborGrad
    SegmentSum SegmentMean SegmentProd SegmentMax SegmentMin ImageProjectiveTransformV3 QuantizeAndDequantizeV4Grad
    ApplyAdaMax ApplyAdagradDA ApplyAddSign ApplyFtrl ApplyFtrlV2 ApplyPowerSign ApplyProximalAdagrad
    ApplyProximalGradientDescent SparseApplyAdadelta SparseApplyAdagradDA SparseApplyFtrl SparseApplyFtrlV2
    SparseApplyProximalAdagrad ResourceSparseApplyAdadelta ResourceSparseApplyAdagradDA ResourceSparseApplyFtrl
    ResourceSparseApplyFtrlV2 ResourceSparseApplyProximalAdagrad ResourceScatterNdMax ResourceScatterNdMin
    ScatterNdAdd ScatterNdMax ScatterNdMin ScatterNdSub ScatterNdUpdate StridedSliceAssign
    TensorListScatterIntoExistingList TensorListScatterV2 OptionalFromValue OptionalGetValue OptionalNone
    _FusedMatMul
    Dilation2D Dilation2DBackpropFilter Dilation2DBackpropInput NthElement HistogramFixedWidth UnravelIndex
    RandomGamma StatelessRandomGammaV2 StatelessRandomGammaV3
    GuaranteeConst Lu ResizeArea MaxPoolWithArgmax MaxPoolGradWithArgmax
    UniformCandidateSampler LogUniformCandidateSampler FixedUnigramCandidateSampler ComputeAccidentalHits
    HashTableV2 LookupTableFindV2 LookupTableSizeV2 LookupTableImportV2 InitializeTableV2
"""
NEVER_COMPILED = frozenset(_NEVER.split())
"""Ops that no cluster holds: `Where`, `Unique` and `NonMaxSuppressionV3`, whose sizes follow from values, by choice."""

_UNSIGNED = "uint8 uint16 uint32 uint64"
_INTEGERS = f"int8 int16 int32 int64 {_UNSIGNED}"
_COMPLEX = "complex64 complex128"
_NARROW = "bool int8 int16 uint8 uint16"
_FLOATS = "bfloat16 float16 float32 float64"
_WITHOUT = {
    "T": {
        "MatMul": _UNSIGNED,
        "_FusedConv2D": "float16 float32 float64",
        "Cumsum Cumprod": f"int8 int16 {_UNSIGNED} {_COMPLEX}",
        "TopKV2": "uint16",
        "ListDiff": f"{_NARROW} uint32 uint64 {_FLOATS} {_COMPLEX}",
        "Einsum": "bool int8 int16 uint8 uint16 uint32",
        "ExtractImagePatches": f"bool int8 int16 int64 {_UNSIGNED} {_COMPLEX}",
        "MaxPoolGradGrad MaxPoolGradGradV2 MaxPool3DGradGrad": f"bfloat16 float16 float64 {_INTEGERS}",
        "MatrixInverse MatrixSolve Svd TridiagonalMatMul TridiagonalSolve": _COMPLEX,
        "StatelessMultinomial": f"float16 {_INTEGERS}",
        "XlaSvd": f"{_INTEGERS} {_COMPLEX}",
        """ResourceApplyMomentum ResourceApplyAdaMax ResourceApplyAddSign ResourceApplyPowerSign ResourceApplyAdagradDA
        ResourceApplyFtrl ResourceApplyFtrlV2""": f"{_INTEGERS} {_COMPLEX}",
        """ResourceApplyGradientDescent ResourceApplyKerasMomentum ResourceApplyAdam ResourceApplyRMSProp
        ResourceApplyCenteredRMSProp ResourceApplyAdagrad ResourceApplyAdagradV2 ResourceApplyAdadelta
        ResourceApplyProximalGradientDescent ResourceApplyProximalAdagrad""": _INTEGERS,
    },
    "dtype": {
        "AssignAddVariableOp AssignSubVariableOp": "bool",
        "TruncatedNormal": "bfloat16 float16",
        "StatelessRandomUniformFullInt": "uint32 uint64",
        "StatefulUniform StatefulStandardNormalV2 StatefulTruncatedNormal": f"bool {_INTEGERS} {_COMPLEX}",
        "StatefulUniformFullInt StatefulUniformInt": f"{_NARROW} {_FLOATS} {_COMPLEX}",
        "XlaRngBitGenerator": "int8 int32 int64",
    },
    "Tseed": {
        """StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal StatelessRandomUniformInt
        StatelessMultinomial""": "int64",
        "StatelessRandomUniformFullInt": "int64 uint32 uint64",
    },
}
WITHOUT: Mapping[tuple[str, str], frozenset[DataType]] = {
    (op, attribute): frozenset(BY_NAME[name] for name in types.split())
    for attribute, rows in _WITHOUT.items()
    for ops, types in rows.items()
    for op in ops.split()
}
"""The types, by an op and its attribute, that TensorFlow compiles nothing for."""
_ATTRIBUTES = tuple(_WITHOUT)


def problem_of(node: Node) -> str:
    """Why TensorFlow compiles no such node, whatever surrounds it; empty if it does."""
    if node.op in NEVER_COMPILED:
        return f"op {node.op} is never compiled"
    for attribute in _ATTRIBUTES:
        kind = node.attributes.get(attribute)
        if isinstance(kind, DataType) and kind in WITHOUT.get((node.op, attribute), ()):
            return f"op {node.op} is not compiled for the {attribute} {kind}"
    return ""
