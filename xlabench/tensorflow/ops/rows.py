"""Which public function of the namespace is which op: names, the order of arguments, and their older spellings.

A row is `names = Op`, or `names = Op:name` where nodes are called otherwise.  Behind it stand the arguments in order,
where they are not the op's inputs and then its attributes with defaults: `axis|dim>dim=-1` is an argument `axis`, also
spelled `dim`, that is the op's `dim`, by default -1; without a default it must be given; `name` stands behind the
others, or where a row says so.  A line that begins with a space goes on with the row above.  What cannot be said so is
a function of its own in this folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ROWS = """
acos math.acos = Acos
acosh math.acosh = Acosh
add math.add = AddV2:Add
angle math.angle = Angle input
arg_max = ArgMax input dimension output_type='int64'
arg_min = ArgMin input dimension output_type='int64'
asin math.asin = Asin
asinh math.asinh = Asinh
atan math.atan = Atan
atan2 math.atan2 = Atan2
atanh math.atanh = Atanh
batch_to_space_nd manip.batch_to_space_nd = BatchToSpaceND
betainc math.betainc = Betainc
bitcast = Bitcast input type
bitwise.bitwise_and = BitwiseAnd
bitwise.bitwise_or = BitwiseOr
bitwise.bitwise_xor = BitwiseXor
bitwise.invert = Invert
bitwise.left_shift = LeftShift
bitwise.right_shift = RightShift
broadcast_dynamic_shape = BroadcastArgs shape_x>s0 shape_y>s1
broadcast_to = BroadcastTo
ceil math.ceil = Ceil
cholesky linalg.cholesky = Cholesky
complex dtypes.complex = Complex real imag
conj math.conj = Conj x>input
cos math.cos = Cos
cosh math.cosh = Cosh
cross linalg.cross = Cross
cumprod math.cumprod = Cumprod x axis=0 exclusive=False reverse=False
cumsum math.cumsum = Cumsum x axis=0 exclusive=False reverse=False
depth_to_space nn.depth_to_space = DepthToSpace input block_size name data_format='NHWC'
diag linalg.tensor_diag = Diag diagonal
diag_part linalg.tensor_diag_part = DiagPart input
digamma math.digamma = Digamma
div_no_nan math.divide_no_nan = DivNoNan
dynamic_partition = DynamicPartition data partitions num_partitions
dynamic_stitch = DynamicStitch indices data
ensure_shape = EnsureShape x>input shape
equal math.equal = Equal x y
erf math.erf = Erf
erfc math.erfc = Erfc
exp math.exp = Exp
expand_dims = ExpandDims input axis|dim>dim
expm1 math.expm1 = Expm1
extract_image_patches image.extract_image_patches = ExtractImagePatches images ksizes|sizes>ksizes strides rates padding
fake_quant_with_min_max_args quantization.fake_quant_with_min_max_args = FakeQuantWithMinMaxArgs
fake_quant_with_min_max_args_gradient quantization.fake_quant_with_min_max_args_gradient =
 FakeQuantWithMinMaxArgsGradient
fake_quant_with_min_max_vars quantization.fake_quant_with_min_max_vars = FakeQuantWithMinMaxVars
fake_quant_with_min_max_vars_gradient quantization.fake_quant_with_min_max_vars_gradient =
 FakeQuantWithMinMaxVarsGradient
fake_quant_with_min_max_vars_per_channel quantization.fake_quant_with_min_max_vars_per_channel =
 FakeQuantWithMinMaxVarsPerChannel
fake_quant_with_min_max_vars_per_channel_gradient quantization.fake_quant_with_min_max_vars_per_channel_gradient =
 FakeQuantWithMinMaxVarsPerChannelGradient
fft signal.fft spectral.fft = FFT input
fft2d signal.fft2d spectral.fft2d = FFT2D input
fft3d signal.fft3d spectral.fft3d = FFT3D input
fill = Fill
floor math.floor = Floor
floordiv floor_div math.floordiv = FloorDiv:floordiv
floormod mod math.mod math.floormod = FloorMod
greater math.greater = Greater
greater_equal math.greater_equal = GreaterEqual
guarantee_const = GuaranteeConst input
histogram_fixed_width = HistogramFixedWidth values value_range nbins=100 dtype=None
identity = Identity
ifft signal.ifft spectral.ifft = IFFT input
ifft2d signal.ifft2d spectral.ifft2d = IFFT2D input
ifft3d signal.ifft3d spectral.ifft3d = IFFT3D input
igamma math.igamma = Igamma
igammac math.igammac = Igammac
imag math.imag = Imag input
image.crop_and_resize = CropAndResize image boxes box_ind|box_indices crop_size method='bilinear' extrapolation_value=0
image.extract_patches = ExtractImagePatches images sizes>ksizes strides rates padding
image.hsv_to_rgb = HSVToRGB images
image.non_max_suppression = NonMaxSuppressionV3 boxes scores max_output_size iou_threshold=0.5 score_threshold=-1e999
image.resize_area = ResizeArea images size align_corners=False
image.resize_bicubic = ResizeBicubic images size align_corners=False name half_pixel_centers=False
image.resize_bilinear = ResizeBilinear images size align_corners=False name half_pixel_centers=False
image.resize_nearest_neighbor = ResizeNearestNeighbor images size align_corners=False name half_pixel_centers=False
image.rgb_to_hsv = RGBToHSV images
invert_permutation math.invert_permutation = InvertPermutation
is_finite debugging.is_finite math.is_finite = IsFinite
is_inf debugging.is_inf math.is_inf = IsInf
is_nan debugging.is_nan math.is_nan = IsNan
less math.less = Less
less_equal math.less_equal = LessEqual
lgamma math.lgamma = Lgamma
linalg.band_part matrix_band_part = MatrixBandPart
linalg.det matrix_determinant = MatrixDeterminant
linalg.inv matrix_inverse = MatrixInverse input adjoint=False
linalg.lu = Lu input output_idx_type='int32'
linalg.qr qr = Qr input full_matrices=False
linalg.slogdet = LogMatrixDeterminant
linalg.solve matrix_solve = MatrixSolve matrix rhs adjoint=False
linalg.triangular_solve matrix_triangular_solve = MatrixTriangularSolve matrix rhs lower=True adjoint=False
linspace lin_space = LinSpace
log math.log = Log
log1p math.log1p = Log1p
logical_and math.logical_and = LogicalAnd
logical_not math.logical_not = LogicalNot
logical_or math.logical_or = LogicalOr
math.bessel_i0 = BesselI0
math.bessel_i0e = BesselI0e
math.bessel_i1 = BesselI1
math.bessel_i1e = BesselI1e
math.cumulative_logsumexp = CumulativeLogsumexp x axis=0 exclusive=False reverse=False
math.erfinv = Erfinv
math.multiply_no_nan = MulNoNan
math.ndtri = Ndtri
math.nextafter = NextAfter x1 x2
math.xlog1py = Xlog1py
maximum math.maximum = Maximum
minimum math.minimum = Minimum
multiply mul math.multiply = Mul
negative neg math.negative = Neg
nn.batch_norm_with_global_normalization = BatchNormWithGlobalNormalization t|input>t m|mean>m v|variance>v beta gamma
 variance_epsilon scale_after_normalization
nn.conv3d_backprop_filter nn.conv3d_backprop_filter_v2 = Conv3DBackpropFilterV2 input filter_sizes out_backprop
 strides padding data_format='NDHWC' dilations=(1,1,1,1,1)
nn.depthwise_conv2d_backprop_filter nn.depthwise_conv2d_native_backprop_filter = DepthwiseConv2dNativeBackpropFilter
 input filter_sizes out_backprop strides padding data_format='NHWC' dilations=(1,1,1,1)
nn.depthwise_conv2d_backprop_input nn.depthwise_conv2d_native_backprop_input = DepthwiseConv2dNativeBackpropInput
 input_sizes filter out_backprop strides padding data_format='NHWC' dilations=(1,1,1,1)
nn.depthwise_conv2d_native = DepthwiseConv2dNative input filter strides padding data_format='NHWC' dilations=(1,1,1,1)
nn.dilation2d = Dilation2D input filter|filters>filter strides rates|dilations>rates padding
nn.elu = Elu
nn.l2_loss = L2Loss
nn.leaky_relu = LeakyRelu features alpha=0.2
nn.local_response_normalization nn.lrn = LRN input depth_radius=5 bias=1.0 alpha=1.0 beta=0.5
nn.relu = Relu
nn.relu6 = Relu6
nn.selu = Selu
nn.softplus math.softplus = Softplus
nn.softsign math.softsign = Softsign
no_op = NoOp
not_equal math.not_equal = NotEqual x y
polygamma math.polygamma = Polygamma
pow math.pow = Pow
prevent_gradient = PreventGradient
quantization.dequantize dequantize = Dequantize input min_range max_range mode='MIN_COMBINED' name axis=-1
 narrow_range=False dtype='float32'
real math.real = Real input
realdiv = RealDiv
reciprocal math.reciprocal = Reciprocal
reshape manip.reshape = Reshape
reverse manip.reverse = ReverseV2
reverse_v2 = ReverseV2
rint math.rint = Rint
roll manip.roll = Roll input shift axis
round math.round = Round
rsqrt math.rsqrt = Rsqrt
scatter_nd manip.scatter_nd = ScatterNd indices updates shape
segment_max math.segment_max = SegmentMax
segment_mean math.segment_mean = SegmentMean
segment_min math.segment_min = SegmentMin
segment_prod math.segment_prod = SegmentProd
segment_sum math.segment_sum = SegmentSum
setdiff1d = ListDiff x y index_dtype>out_idx=None
sigmoid nn.sigmoid math.sigmoid = Sigmoid
sign math.sign = Sign
sin math.sin = Sin
sinh math.sinh = Sinh
slice = Slice input_>input begin size
space_to_batch_nd manip.space_to_batch_nd = SpaceToBatchND
space_to_depth nn.space_to_depth = SpaceToDepth input block_size name data_format='NHWC'
sparse_to_dense = SparseToDense sparse_indices output_shape sparse_values default_value=0 validate_indices=True
sqrt math.sqrt = Sqrt
square math.square = Square
squared_difference math.squared_difference = SquaredDifference
squeeze = Squeeze input axis|squeeze_dims>squeeze_dims=()
stop_gradient = StopGradient
subtract sub math.subtract = Sub
tan math.tan = Tan
tanh nn.tanh math.tanh = Tanh
tensor_scatter_nd_add tensor_scatter_add = TensorScatterAdd tensor indices updates
tensor_scatter_nd_max = TensorScatterMax tensor indices updates
tensor_scatter_nd_min = TensorScatterMin tensor indices updates
tensor_scatter_nd_sub tensor_scatter_sub = TensorScatterSub tensor indices updates
tensor_scatter_nd_update tensor_scatter_update = TensorScatterUpdate tensor indices updates
tile manip.tile = Tile
truncatediv = TruncateDiv:truncatediv
truncatemod = TruncateMod:truncatemod
unique = Unique
unravel_index = UnravelIndex
unsorted_segment_max math.unsorted_segment_max = UnsortedSegmentMax data segment_ids num_segments
unsorted_segment_min math.unsorted_segment_min = UnsortedSegmentMin data segment_ids num_segments
unsorted_segment_prod math.unsorted_segment_prod = UnsortedSegmentProd data segment_ids num_segments
unsorted_segment_sum math.unsorted_segment_sum = UnsortedSegmentSum data segment_ids num_segments
xdivy math.xdivy = Xdivy
xlogy math.xlogy = Xlogy
zeta math.zeta = Zeta
"""


class Row(NamedTuple):
    """An op, the name that its nodes get, and the text of its arguments, empty where they are the op's."""

    op: str
    node_name: str
    arguments: str


def rows() -> Mapping[str, Row]:
    """The row of each public name."""
    found: dict[str, Row] = {}
    for line in ROWS.strip().replace("\n ", " ").splitlines():
        public, _, what = line.partition(" = ")
        named, _, arguments = what.partition(" ")
        op, _, word = named.partition(":")
        found.update((name, Row(op, word or op, arguments)) for name in public.split())
    return found


def names() -> list[str]:
    """The public names."""
    return list(rows())
