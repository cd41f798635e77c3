"""Where the names of the namespace are: a row for each module, with what programs call its things.

`name` stands under the same name in the module, `public=name` under another; a public name with a dot is one of a
namespace (`tf.train.AdamOptimizer`).  Functions that are one op are not here: they are rows of `ops/rows.py`.
"""

from __future__ import annotations

from collections.abc import Mapping

_ROWS = """
framework.graph: Graph get_default_graph reset_default_graph
framework.keys: GraphKeys
framework.tensor: Operation Tensor
framework.shapes: TensorShape Dimension
framework.dtypes: DType as_dtype dtypes.as_dtype=as_dtype
framework.variables: Variable
framework.convert: constant convert_to_tensor
framework.operators: abs=absolute math.abs=absolute
framework.imported: GraphDef MetaGraphDef VariableDef import_graph_def graph_util.import_graph_def=import_graph_def
framework.scopes: name_scope op_scope device control_dependencies colocate_with
framework.enumerations: AggregationMethod UnconnectedGradients VariableSynchronization VariableAggregation
framework.device_names: DeviceSpec
ops.variable_scopes: get_local_variable make_template
ops.control: tables_initializer initialize_all_tables=tables_initializer
training.checkpoint_reading: train.NewCheckpointReader=CheckpointReader train.load_checkpoint=load_checkpoint
training.checkpoint_reading: train.list_variables=list_variables train.load_variable=load_variable
training.event_reading: train.summary_iterator=summary_iterator
session: Session InteractiveSession get_default_session
config: ConfigProto GPUOptions OptimizerOptions GraphOptions RunOptions RunMetadata
ops.math: argmax argmin cast saturate_cast matmul divide truediv div logical_xor
ops.math: add_n
ops.math: accumulate_n reduce_logsumexp tensordot range=range_
ops.math: math.argmax=argmax math.argmin=argmin math.divide=divide math.truediv=truediv math.logical_xor=logical_xor
ops.math: math.add_n=add_n math.reduce_logsumexp=reduce_logsumexp linalg.matmul=matmul linalg.tensordot=tensordot
ops.math: math.accumulate_n=accumulate_n math.cast=cast
ops.arrays: placeholder placeholder_with_default zeros ones zeros_like ones_like eye shape size rank concat stack
ops.arrays: unstack split transpose one_hot where where_v2 gather pad strided_slice identity_n meshgrid linalg.eye=eye
ops.arrays: boolean_mask
ops.nn: nn.softmax=softmax nn.log_softmax=log_softmax math.softmax=softmax math.log_softmax=log_softmax
ops.nn: nn.bias_add=bias_add nn.xw_plus_b=xw_plus_b nn.relu_layer=relu_layer
ops.nn: nn.l2_normalize=l2_normalize math.l2_normalize=l2_normalize linalg.l2_normalize=l2_normalize
ops.nn: nn.moments=moments nn.batch_normalization=batch_normalization nn.in_top_k=in_top_k math.in_top_k=in_top_k
ops.nn: nn.top_k=top_k math.top_k=top_k nn.embedding_lookup=embedding_lookup
ops.cross_entropy: nn.softmax_cross_entropy_with_logits=softmax_cross_entropy_with_logits
ops.cross_entropy: nn.softmax_cross_entropy_with_logits_v2=softmax_cross_entropy_with_logits_v2
ops.cross_entropy: nn.sparse_softmax_cross_entropy_with_logits=sparse_softmax_cross_entropy_with_logits
ops.cross_entropy: nn.sigmoid_cross_entropy_with_logits=sigmoid_cross_entropy_with_logits
ops.windows: nn.conv2d=conv2d nn.max_pool=max_pool nn.avg_pool=avg_pool
ops.windows: nn.depthwise_conv2d=depthwise_conv2d
ops.convolutions: nn.separable_conv2d=separable_conv2d nn.conv1d=conv1d
ops.convolutions: nn.conv2d_transpose=conv2d_transpose nn.conv2d_backprop_input=conv2d_backprop_input
ops.convolutions: nn.conv2d_backprop_filter=conv2d_backprop_filter nn.atrous_conv2d=atrous_conv2d nn.conv3d=conv3d
ops.convolutions: nn.max_pool_with_argmax=max_pool_with_argmax
ops.volumes: nn.max_pool3d=max_pool3d nn.avg_pool3d=avg_pool3d nn.convolution=convolution
ops.volumes: nn.conv1d_transpose=conv1d_transpose nn.conv3d_transpose=conv3d_transpose nn.conv_transpose=conv_transpose
ops.activations: log_sigmoid math.log_sigmoid=log_sigmoid nn.swish=swish nn.silu=swish nn.crelu=crelu
ops.activations: nn.zero_fraction=zero_fraction math.zero_fraction=zero_fraction nn.fused_batch_norm=fused_batch_norm
ops.activations: nn.weighted_moments=weighted_moments
ops.cross_entropy: nn.weighted_cross_entropy_with_logits=weighted_cross_entropy_with_logits
ops.cross_entropy: nn.log_poisson_loss=log_poisson_loss
ops.counting: sequence_mask count_nonzero math.count_nonzero=count_nonzero confusion_matrix
ops.counting: math.confusion_matrix=confusion_matrix bincount math.bincount=bincount sort argsort
ops.counting: contrib.framework.sort=sort contrib.framework.argsort=argsort reverse_sequence unsorted_segment_mean
ops.counting: unsorted_segment_sqrt_n math.unsorted_segment_mean=unsorted_segment_mean
ops.counting: math.unsorted_segment_sqrt_n=unsorted_segment_sqrt_n unique_with_counts
ops.counting: searchsorted
ops.activations: math.reduce_std=reduce_std math.reduce_variance=reduce_variance
ops.statistics: nn.sufficient_statistics=sufficient_statistics nn.normalize_moments=normalize_moments
ops.statistics: math.polyval=polyval math.reciprocal_no_nan=reciprocal_no_nan lbeta math.lbeta=lbeta
ops.statistics: is_non_decreasing math.is_non_decreasing=is_non_decreasing is_strictly_increasing
ops.statistics: debugging.is_non_decreasing=is_non_decreasing math.is_strictly_increasing=is_strictly_increasing
ops.statistics: debugging.is_strictly_increasing=is_strictly_increasing nn.erosion2d=erosion2d
ops.solutions: linalg.adjoint=adjoint linalg.logdet=logdet linalg.matvec=matvec matrix_solve_ls
ops.solutions: linalg.lstsq=matrix_solve_ls linalg.normalize=normalize
ops.spectra: signal.rfft=rfft signal.rfft2d=rfft2d signal.rfft3d=rfft3d signal.irfft=irfft signal.irfft2d=irfft2d
ops.spectra: signal.irfft3d=irfft3d spectral.rfft=rfft spectral.rfft2d=rfft2d spectral.rfft3d=rfft3d
ops.spectra: spectral.irfft=irfft spectral.irfft2d=irfft2d spectral.irfft3d=irfft3d signal.frame=frame
ops.spectra: signal.hann_window=hann_window signal.hamming_window=hamming_window signal.stft=stft
ops.spectra: signal.overlap_and_add=overlap_and_add signal.dct=dct spectral.dct=dct
ops.math: dtypes.cast=cast dtypes.saturate_cast=saturate_cast
framework.dtypes: dtypes.DType=DType
ops.linear_algebra: norm linalg.norm=norm einsum linalg.einsum=einsum trace linalg.trace=trace matrix_diag
ops.linear_algebra: linalg.diag=matrix_diag matrix_diag_part=diagonals linalg.diag_part=diagonals matrix_set_diag
ops.linear_algebra: linalg.set_diag=matrix_set_diag matrix_transpose linalg.matrix_transpose=matrix_transpose
ops.linear_algebra: linalg.transpose=matrix_transpose
ops.linear_algebra: cholesky_solve linalg.cholesky_solve=cholesky_solve svd linalg.svd=svd self_adjoint_eig
ops.linear_algebra: linalg.eigh=self_adjoint_eig self_adjoint_eigvals linalg.eigvalsh=self_adjoint_eigvals scalar_mul
ops.linear_algebra: math.scalar_mul=scalar_mul
ops.random: random_shuffle random.shuffle=random_shuffle random_crop multinomial random.multinomial=multinomial
ops.random: random.categorical=categorical random_gamma random.gamma=random_gamma
ops.stateless: random.stateless_uniform=stateless_uniform random.stateless_normal=stateless_normal
ops.stateless: random.stateless_truncated_normal=stateless_truncated_normal
ops.stateless: random.stateless_multinomial=stateless_multinomial
ops.stateless: random.stateless_categorical=stateless_categorical
ops.sampling: random.uniform_candidate_sampler=uniform_candidate_sampler
ops.sampling: random.log_uniform_candidate_sampler=log_uniform_candidate_sampler
ops.sampling: random.fixed_unigram_candidate_sampler=fixed_unigram_candidate_sampler
ops.windows: nn.avg_pool2d=avg_pool
ops.pools: nn.pool=pool nn.max_pool_v2=max_pool_v2 nn.avg_pool_v2=avg_pool_v2 nn.max_pool2d=max_pool2d
ops.pools: nn.max_pool1d=max_pool1d nn.avg_pool1d=avg_pool1d
ops.gathers: repeat gather_nd manip.gather_nd=gather_nd batch_gather parallel_stack shape_n broadcast_static_shape
ops.gathers: required_space_to_batch_paddings sparse_segment_sum sparse_segment_mean sparse_segment_sqrt_n
ops.images: image.resize_images=resize_images image.flip_left_right=flip_left_right image.flip_up_down=flip_up_down
ops.images: image.random_flip_left_right=random_flip_left_right image.random_flip_up_down=random_flip_up_down
ops.images: image.transpose_image=transpose_image image.rot90=rot90 image.crop_to_bounding_box=crop_to_bounding_box
ops.images: image.pad_to_bounding_box=pad_to_bounding_box
ops.image_measures: image.psnr=psnr image.ssim=ssim image.ssim_multiscale=ssim_multiscale
ops.image_measures: image.image_gradients=image_gradients image.sobel_edges=sobel_edges
ops.image_boxes: image.rgb_to_yiq=rgb_to_yiq image.yiq_to_rgb=yiq_to_rgb image.rgb_to_yuv=rgb_to_yuv
ops.image_boxes: image.yuv_to_rgb=yuv_to_rgb image.resize_image_with_pad=resize_image_with_pad
ops.image_boxes: image.non_max_suppression_padded=non_max_suppression_padded
ops.images: image.resize_image_with_crop_or_pad=resize_image_with_crop_or_pad image.central_crop=central_crop
ops.images: image.per_image_standardization=per_image_standardization image.convert_image_dtype=convert_image_dtype
ops.images: image.adjust_brightness=adjust_brightness image.adjust_contrast=adjust_contrast image.adjust_hue=adjust_hue
ops.images: image.adjust_saturation=adjust_saturation image.adjust_gamma=adjust_gamma
ops.images: image.random_brightness=random_brightness image.random_contrast=random_contrast
ops.images: image.random_saturation=random_saturation image.random_hue=random_hue
ops.images: image.rgb_to_grayscale=rgb_to_grayscale image.grayscale_to_rgb=grayscale_to_rgb
ops.images: image.total_variation=total_variation image.ResizeMethod=ResizeMethod image.resize=resize_images
ops.images: image.resize_with_crop_or_pad=resize_image_with_crop_or_pad image.transpose=transpose_image
ops.random: image.random_crop=random_crop
ops.clipping: clip_by_value clip_by_norm clip_by_average_norm
ops.clipping: clip_by_global_norm global_norm linalg.global_norm=global_norm
ops.random: set_random_seed random_normal truncated_normal random_uniform nn.dropout=dropout
ops.random: random.set_random_seed=set_random_seed random.normal=random_normal random.uniform=random_uniform
ops.random: random.truncated_normal=truncated_normal
ops.control: group tuple=tuple_ Print=print_ Assert=assert_ debugging.Assert=assert_ check_numerics
ops.control: debugging.check_numerics=check_numerics
ops.checks: assert_equal assert_none_equal assert_less assert_less_equal assert_greater assert_greater_equal
ops.checks: assert_positive assert_negative assert_non_negative assert_non_positive assert_near assert_rank
ops.checks: assert_rank_at_least assert_rank_in assert_type assert_integer assert_scalar assert_same_float_dtype
ops.checks: assert_proper_iterable debugging.assert_equal=assert_equal debugging.assert_none_equal=assert_none_equal
ops.checks: debugging.assert_less=assert_less debugging.assert_less_equal=assert_less_equal
ops.checks: debugging.assert_greater=assert_greater debugging.assert_greater_equal=assert_greater_equal
ops.checks: debugging.assert_positive=assert_positive debugging.assert_negative=assert_negative
ops.checks: debugging.assert_non_negative=assert_non_negative debugging.assert_non_positive=assert_non_positive
ops.checks: debugging.assert_near=assert_near debugging.assert_rank=assert_rank
ops.checks: debugging.assert_rank_at_least=assert_rank_at_least debugging.assert_rank_in=assert_rank_in
ops.checks: debugging.assert_type=assert_type debugging.assert_integer=assert_integer
ops.checks: debugging.assert_scalar=assert_scalar debugging.assert_same_float_dtype=assert_same_float_dtype
ops.checks: debugging.assert_proper_iterable=assert_proper_iterable verify_tensor_all_finite
ops.checks: debugging.assert_all_finite=verify_tensor_all_finite
framework.static_values: get_static_value=static_value contrib.util.constant_value=static_value is_tensor
framework.static_values: is_numeric_tensor debugging.is_numeric_tensor=is_numeric_tensor
ops.control_flow: cond case while_loop
ops.tensor_array: TensorArray
ops.functional: map_fn scan foldl foldr
ops.sampling: nn.nce_loss=nce_loss nn.sampled_softmax_loss=sampled_softmax_loss
ops.sampling: nn.uniform_candidate_sampler=uniform_candidate_sampler
ops.sampling: nn.log_uniform_candidate_sampler=log_uniform_candidate_sampler
ops.sampling: nn.fixed_unigram_candidate_sampler=fixed_unigram_candidate_sampler
ops.sampling: nn.compute_accidental_hits=compute_accidental_hits
ops.rnn: nn.dynamic_rnn=dynamic_rnn nn.static_rnn=static_rnn
ops.rnn: nn.bidirectional_dynamic_rnn=bidirectional_dynamic_rnn
ops.rnn: nn.static_bidirectional_rnn=static_bidirectional_rnn
ops.rnn: contrib.rnn.static_bidirectional_rnn=static_bidirectional_rnn
ops.rnn_cells: nn.rnn_cell.RNNCell=RNNCell nn.rnn_cell.BasicRNNCell=BasicRNNCell nn.rnn_cell.GRUCell=GRUCell
ops.rnn_cells: nn.rnn_cell.BasicLSTMCell=BasicLSTMCell nn.rnn_cell.LSTMStateTuple=LSTMStateTuple
ops.rnn_cells: nn.rnn_cell.MultiRNNCell=MultiRNNCell nn.rnn_cell.LSTMCell=LSTMCell
ops.rnn_cells: nn.rnn_cell.DropoutWrapper=DropoutWrapper
ops.rnn_cells: contrib.rnn.RNNCell=RNNCell contrib.rnn.BasicRNNCell=BasicRNNCell contrib.rnn.GRUCell=GRUCell
ops.rnn_cells: contrib.rnn.BasicLSTMCell=BasicLSTMCell contrib.rnn.LSTMStateTuple=LSTMStateTuple
ops.rnn_cells: contrib.rnn.MultiRNNCell=MultiRNNCell contrib.rnn.LSTMCell=LSTMCell
ops.rnn_cells: contrib.rnn.DropoutWrapper=DropoutWrapper
ops.rnn: contrib.rnn.static_rnn=static_rnn
ops.state: global_variables local_variables trainable_variables model_variables variables_initializer
ops.state: global_variables_initializer local_variables_initializer report_uninitialized_variables
ops.state: scatter_add scatter_sub scatter_mul scatter_div scatter_min scatter_max scatter_update
ops.state: scatter_nd_add scatter_nd_sub scatter_nd_update assert_variables_initialized
ops.state: initialize_local_variables=local_variables_initializer
ops.state: is_variable_initialized assign assign_add assign_sub get_collection get_collection_ref
ops.state: add_to_collection add_to_collections all_variables=global_variables
ops.state: initialize_all_variables=global_variables_initializer initialize_variables=variables_initializer
ops.variable_scopes: AUTO_REUSE VariableScope get_variable get_variable_scope variable_scope
ops.initializers: zeros_initializer=Zeros ones_initializer=Ones constant_initializer=Constant
ops.initializers: random_normal_initializer=RandomNormal random_uniform_initializer=RandomUniform
ops.initializers: truncated_normal_initializer=TruncatedNormal variance_scaling_initializer=VarianceScaling
ops.initializers: contrib.layers.xavier_initializer=glorot_uniform
ops.initializers: glorot_uniform_initializer=glorot_uniform glorot_normal_initializer=glorot_normal
ops.initializers: initializers.zeros=Zeros initializers.ones=Ones initializers.constant=Constant
ops.initializers: initializers.random_normal=RandomNormal initializers.random_uniform=RandomUniform
ops.initializers: initializers.truncated_normal=TruncatedNormal initializers.variance_scaling=VarianceScaling
ops.initializers: initializers.glorot_uniform=glorot_uniform initializers.glorot_normal=glorot_normal
ops.initializers: initializers.he_normal=he_normal initializers.he_uniform=he_uniform
ops.initializers: initializers.lecun_normal=lecun_normal initializers.lecun_uniform=lecun_uniform
ops.initializers: initializers.orthogonal=Orthogonal orthogonal_initializer=Orthogonal initializers.identity=Identity
ops.initializers: initializers.uniform_unit_scaling=UniformUnitScaling
ops.initializers: uniform_unit_scaling_initializer=UniformUnitScaling
ops.state: initializers.global_variables=global_variables_initializer initializers.variables=variables_initializer
ops.state: initializers.local_variables=local_variables_initializer
ops.control: initializers.tables_initializer=tables_initializer
ops.layers: layers.dense=dense layers.conv2d=conv2d layers.max_pooling2d=max_pooling2d layers.flatten=flatten
ops.layers: layers.average_pooling2d=average_pooling2d layers.dropout=dropout
ops.layers: layers.batch_normalization=batch_normalization
ops.convolution_layers: layers.conv1d=conv1d layers.conv3d=conv3d layers.conv2d_transpose=conv2d_transpose
ops.convolution_layers: layers.conv3d_transpose=conv3d_transpose layers.separable_conv1d=separable_conv1d
ops.convolution_layers: layers.separable_conv2d=separable_conv2d layers.max_pooling1d=max_pooling1d
ops.convolution_layers: layers.max_pooling3d=max_pooling3d layers.average_pooling1d=average_pooling1d
ops.convolution_layers: layers.average_pooling3d=average_pooling3d
training.frozen: graph_util.convert_variables_to_constants=convert_variables_to_constants
training.frozen: graph_util.extract_sub_graph=extract_sub_graph
training.saved_models: saved_model.load=load saved_model.loader.load=load saved_model.simple_save=simple_save
training.saved_models: saved_model.maybe_saved_model_directory=is_saved_model
training.saved_models: saved_model.loader.maybe_saved_model_directory=is_saved_model
training.sequence_losses: contrib.seq2seq.sequence_loss=sequence_loss
training.sequence_losses: contrib.legacy_seq2seq.sequence_loss_by_example=sequence_loss_by_example
training.gradients: gradients hessians
framework.indexed_slices: IndexedSlices IndexedSlicesValue
training.optimizers: train.Optimizer=Optimizer train.GradientDescentOptimizer=GradientDescentOptimizer
training.optimizers: train.MomentumOptimizer=MomentumOptimizer train.AdamOptimizer=AdamOptimizer
training.optimizers: train.RMSPropOptimizer=RMSPropOptimizer train.AdagradOptimizer=AdagradOptimizer
training.regularized_optimizers: train.AdadeltaOptimizer=AdadeltaOptimizer train.FtrlOptimizer=FtrlOptimizer
training.regularized_optimizers: train.ProximalAdagradOptimizer=ProximalAdagradOptimizer
training.regularized_optimizers: train.ProximalGradientDescentOptimizer=ProximalGradientDescentOptimizer
training.regularized_optimizers: train.AdagradDAOptimizer=AdagradDAOptimizer
training.averages: train.ExponentialMovingAverage=ExponentialMovingAverage moving_average_variables
training.steps: train.get_global_step=get_global_step train.create_global_step=create_global_step
training.steps: train.get_or_create_global_step=get_or_create_global_step
training.decays: train.exponential_decay=exponential_decay train.natural_exp_decay=natural_exp_decay
training.decays: train.inverse_time_decay=inverse_time_decay train.polynomial_decay=polynomial_decay
training.decays: train.cosine_decay=cosine_decay train.piecewise_constant=piecewise_constant
training.decays: train.piecewise_constant_decay=piecewise_constant
training.cosine_decays: train.cosine_decay_restarts=cosine_decay_restarts
training.cosine_decays: train.linear_cosine_decay=linear_cosine_decay
training.cosine_decays: train.noisy_linear_cosine_decay=noisy_linear_cosine_decay
training.metrics: metrics.mean=mean metrics.accuracy=accuracy metrics.mean_squared_error=mean_squared_error
training.metrics: metrics.mean_absolute_error=mean_absolute_error metrics.true_positives=true_positives
training.metrics: metrics.root_mean_squared_error=root_mean_squared_error metrics.false_positives=false_positives
training.metrics: metrics.true_negatives=true_negatives metrics.false_negatives=false_negatives
training.metrics: metrics.precision=precision metrics.recall=recall
training.more_metrics: metrics.percentage_below=percentage_below metrics.mean_relative_error=mean_relative_error
training.more_metrics: metrics.mean_cosine_distance=mean_cosine_distance metrics.mean_tensor=mean_tensor
training.more_metrics: metrics.mean_iou=mean_iou metrics.mean_per_class_accuracy=mean_per_class_accuracy
training.threshold_metrics: metrics.auc=auc metrics.precision_at_thresholds=precision_at_thresholds
training.threshold_metrics: metrics.recall_at_thresholds=recall_at_thresholds
training.threshold_metrics: metrics.true_positives_at_thresholds=true_positives_at_thresholds
training.threshold_metrics: metrics.false_positives_at_thresholds=false_positives_at_thresholds
training.threshold_metrics: metrics.true_negatives_at_thresholds=true_negatives_at_thresholds
training.threshold_metrics: metrics.false_negatives_at_thresholds=false_negatives_at_thresholds
training.threshold_metrics: metrics.sensitivity_at_specificity=sensitivity_at_specificity
training.threshold_metrics: metrics.specificity_at_sensitivity=specificity_at_sensitivity
training.rank_metrics: metrics.precision_at_k=precision_at_k metrics.recall_at_k=recall_at_k
training.rank_metrics: metrics.precision_at_top_k=precision_at_top_k metrics.recall_at_top_k=recall_at_top_k
training.rank_metrics: metrics.sparse_precision_at_k=precision_at_k
training.rank_metrics: metrics.average_precision_at_k=average_precision_at_k
training.rank_metrics: metrics.sparse_average_precision_at_k=average_precision_at_k
training.graph_files: train.write_graph=write_graph io.write_graph=write_graph
training.saver: train.Saver=Saver
training.meta_graphs: train.import_meta_graph=import_meta_graph
training.meta_graph_files: train.export_meta_graph=export_meta_graph
training.checkpoint_state: train.latest_checkpoint=latest_checkpoint train.checkpoint_exists=checkpoint_exists
training.checkpoint_state: train.get_checkpoint_state=get_checkpoint_state train.remove_checkpoint=remove_checkpoint
training.checkpoint_state: train.update_checkpoint_state=update_checkpoint_state
summary: Event HistogramProto Summary
ops.script: py_func numpy_function=py_func
training.losses: losses.Reduction=Reduction losses.compute_weighted_loss=compute_weighted_loss
training.losses: losses.add_loss=add_loss losses.get_losses=get_losses losses.get_total_loss=get_total_loss
training.losses: losses.get_regularization_losses=get_regularization_losses losses.log_loss=log_loss
training.losses: losses.get_regularization_loss=get_regularization_loss
training.losses: losses.mean_squared_error=mean_squared_error losses.absolute_difference=absolute_difference
training.losses: losses.huber_loss=huber_loss losses.hinge_loss=hinge_loss
training.losses: losses.sigmoid_cross_entropy=sigmoid_cross_entropy
training.losses: losses.softmax_cross_entropy=softmax_cross_entropy
training.losses: losses.sparse_softmax_cross_entropy=sparse_softmax_cross_entropy
training.losses: losses.cosine_distance=cosine_distance
training.losses: losses.mean_pairwise_squared_error=mean_pairwise_squared_error
switches: disable_eager_execution disable_v2_behavior disable_v2_tensorshape disable_resource_variables
switches: disable_tensor_equality disable_control_flow_v2 enable_resource_variables enable_control_flow_v2
switches: enable_v2_behavior enable_eager_execution executing_eagerly
switches: logging.set_verbosity=set_verbosity logging.debug=debug logging.info=info logging.warn=warn
switches: logging.warning=warn logging.error=error logging.fatal=error logging.DEBUG=DEBUG logging.INFO=INFO
switches: logging.WARN=WARN logging.ERROR=ERROR logging.FATAL=FATAL
"""

_VALUES = """
newaxis=None __version__='1.15.0' VERSION='1.15.0' GIT_VERSION='xlabench' COMPILER_VERSION='xlabench'
saved_model.tag_constants.SERVING='serve' saved_model.tag_constants.TRAINING='train'
saved_model.signature_constants.DEFAULT_SERVING_SIGNATURE_DEF_KEY='serving_default'
saved_model.signature_constants.PREDICT_METHOD_NAME='tensorflow/serving/predict'
"""

MODULES = ("app", "compat", "contrib", "errors", "examples", "flags", "gfile", "python", "summary", "test")
"""What is a module of its own, and a name of the namespace."""

NAMESPACES = (
    *(
        "bitwise",
        "contrib.framework",
        "contrib.layers",
        "contrib.legacy_seq2seq",
        "contrib.rnn",
        "contrib.seq2seq",
        "contrib.util",
        "debugging",
        "dtypes",
        "graph_util",
        "image",
        "initializers",
        "io",
        "layers",
        "linalg",
        "logging",
        "losses",
        "manip",
        "math",
        "metrics",
        "nn",
        "nn.rnn_cell",
        "quantization",
        "random",
        "raw_ops",
        "saved_model",
        "saved_model.loader",
        "saved_model.signature_constants",
        "saved_model.tag_constants",
        "signal",
        "spectral",
    ),
    "train",
)
"""Names under which others stand."""


def modules_of_names() -> Mapping[str, tuple[str, str]]:
    """For every public name the module that it is in, and what it is called there."""
    found = {}
    for line in _ROWS.strip().splitlines():
        module, _, words = line.partition(": ")
        for word in words.split():
            public, _, name = word.partition("=")
            found[public] = module, name or public
    return found


def values() -> Mapping[str, object]:
    """The names that are values."""
    pairs = (word.partition("=") for word in _VALUES.split())
    return {name: None if text == "None" else text.strip("'") for name, _, text in pairs}
