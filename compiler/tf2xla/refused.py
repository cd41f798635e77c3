"""Why ops of TensorFlow's have no record, and what to do instead: a graph that holds one is refused with these words.

What is in no row is an op that nobody has asked for yet, or one that is misspelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from compiler.diagnostics import did_you_mean
from compiler.tf2xla.ops import RECORDS

_HOST = "feed what it gives"
_REASONS = {
    "SymbolicGradient": "it is differentiated by whoever runs it: ask for the gradients when the graph is made",
    "UniformQuantized*Hybrid": "take floats by UniformDequantize, or quantize both sides by UniformQuantize",
    "QuantizeV2 Quantized* Requantize*": (
        "kernels on whole numbers of few bits have no lowering: quantize by QuantizeAndDequantizeV4"
    ),
    "StatelessParameterizedTruncatedNormal ParameterizedTruncatedNormal "
    "StatelessRandomGamma *RandomPoisson *RandomPoissonV2 StatelessRandomBinomial StatelessShuffle": (
        "its kernel draws in an order that no program repeats: feed the numbers, or draw uniform or normal ones"
    ),
    "StochasticCastToInt": (
        "which numbers its kernel draws depends on how wide a processor's vectors are: add StatelessRandomUniformV2, "
        "and round by Floor"
    ),
    "UniqueWithCounts* *ToDenseSetOperation RaggedTensorTo* RaggedRange": (
        "the sizes of its results depend on the values of its inputs: pad to sizes that are known"
    ),
    "XlaSend XlaRecv XlaHostCompute* _XlaSend* _XlaRecv*": f"it exchanges arrays with a host that runs beside: {_HOST}",
    "_Send _Recv _HostSend _HostRecv": "the graph was cut for several devices: give it as it was before it was run",
    "HashTable Mutable*HashTable* AnonymousHashTable AnonymousMutable* LookupTableFind LookupTableSize "
    "LookupTableImport LookupTableInsert* LookupTableRemove* LookupTableExport* InitializeTable InitializeTableFrom*": (
        f"the keys of such a table may change: fill a HashTableV2 with constants, or look up on the host, and {_HOST}"
    ),
    "*Queue* *Iterator* *Dataset* *Reader*": f"it reads what programs are given: {_HOST}",
    "String* AsString Decode* Encode* *Regex* *Substr": f"HLO has no strings: {_HOST}",
    "SparseSegment*WithNumSegments SparseSegment*Grad*": (
        "take rows by GatherV2, and sum them by SegmentSumV2 or UnsortedSegmentSum"
    ),
    "Sparse* DeserializeSparse*": "arrays are dense: make them so by ScatterNd, or SparseToDense",
    "Eig MatrixSquareRoot MatrixLogarithm BandedTriangularSolve": (
        f"no back end decomposes matrices in this way: compute it on the host, and {_HOST}"
    ),
    "LSTMBlockCell* BlockLSTM* GRUBlockCell*": "write the cell in ops: MatMul, Sigmoid, Tanh and Mul",
    "LearnedUnigramCandidateSampler ThreadUnsafeUnigramCandidateSampler AllCandidateSampler": (
        "draw by UniformCandidateSampler, LogUniformCandidateSampler or FixedUnigramCandidateSampler"
    ),
    "CTC* FractionalAvgPool* FractionalMaxPool* CombinedNonMaxSuppression": (
        f"what it does depends on values in ways that no program follows: compute it on the host, and {_HOST}"
    ),
    "NonMaxSuppression NonMaxSuppressionV2 NonMaxSuppressionV5 NonMaxSuppressionWithOverlaps": (
        "choose by NonMaxSuppressionV3, or by NonMaxSuppressionV4, which compiled programs can hold"
    ),
    "Timestamp": "a program has no clock: feed the time",
    "FFTND IFFTND RFFTND IRFFTND": "transform by FFT, FFT2D or FFT3D, and their inverses",
    "InplaceUpdate InplaceAdd InplaceSub AliasInplace*": "change rows by TensorScatterUpdate or TensorScatterAdd",
    "_Arg _Retval _XlaAotOnlyVarHandleOp": (
        "TensorFlow puts it into graphs that it runs: give the graph as it was before"
    ),
    "TPU* *TPUEmbedding* ConfigureDistributedTPU": "it is there for TPUs: give the graph as it is before it is placed",
}
REASONS: Mapping[str, str] = {pattern: said for patterns, said in _REASONS.items() for pattern in patterns.split()}
"""Words for the ops whose names fit a pattern, the first that fits."""


def why_not(op: str) -> str:
    """Why no record has an op."""
    said = next((said for pattern, said in REASONS.items() if fnmatchcase(op, pattern)), "")
    return f"no record has it: {said}" if said else "no record has it" + did_you_mean(op, RECORDS)
