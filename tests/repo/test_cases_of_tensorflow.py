"""Which test here says what a case of TensorFlow's unit tests of clustering says, and which have none, and why.

A case that a table here has under TensorFlow's name stands in a list; another with the test that has it.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
JIT = "compiler/jit/test_"
UNDER_THEIR_NAMES = {
    "cluster_cases.py": """
        Chains UncompilableCycles CompilableCycles StringUnsupported HalfSupported PartitionedCallUnsupported
        FunctionCalls SymbolicGradients Loops DontClusterNodesWithMismatchingDeadness
        ClusterNodesWithMismatchingInputDeadness ResourcesClusteringAllowed ResourcesClusteringDisallowed ChainOfOps
        Retval DontCountIdentityOps ConstOp DontClusterIdentityWithRefInput ClusterIdentityWithNonRefInput
        ClusterControlTrigger RandomShape RandomShapeWithFunc RandomShapeOnXlaDevice DontClusterMergingNodes
        DontClusterMergingNodesOnCPU NOT_DontClusterSpreadingNodes ClusterStatefulRandomOpOnXlaDevice
        DontAutoClusterStatefulRandomOp ClusterDummyOpsOnXlaDevice DontAutoClusterDummyOps
        DontAutoClusterOpsProducingVariant DontAutoClusterOpsConsumingVariant ClusterOpsProducingVariantIfOnXlaDevice
        CreateCombinedCpuGpuClusters DontCreateGpu0AndGpu1Clusters DontCreateCombinedCpuUnknownClusters
        ClusterResourceOpsWhenSafe DontClusterResourceOpsWhenUnsafe DontClusterNodesWithScopedAllocatorAttr
        DontClusterNodesWithForwardFromAttr ClusterShapeConsumerWithProducer
        ClusterShapeConsumerWithProducerAndConsumer IterationIncrementAndGroupDeps UnsupportedEnterExitPattern
        TensorArrayShapeOnXlaDevice
        """,
    f"{JIT}deadness.py": """
        BasicPositive BasicNegative AndIsCommutative AndIsAssociative OrIsCommutative OrIsAssociative AndOfOr OrOfAnd
        AndOrDistributiveSimplified AndOrDistributive Ternary Recv HostRecv ControlInputs ControlTrigger
        ControlInputsToMerge RecvVsSwitch RecvVsSwitchText DeMorgan
        """,
    f"{JIT}resource_safety.py": """
        WriteRead ReadWrite ReadWriteNoEdges ReadModify ModifyRead ModifyWrite WriteModify ReadModifyWrite
        WriteModifyRead WriteReadModify CallRead ReadCall CallWrite WriteCall SymbolicGradientRead
        WriteSymbolicGradient ChainOfOps DagOfOps DagOfOpsWithRepeatedPaths
        """,
    "compiler/tf2xla/test_constants.py": """
        Basics TopologicalOrder_0 TopologicalOrder_1 DontFollowControlDependencies RespectExplicitAttr_0
        RespectExplicitAttr_1
        """,
    f"{JIT}partially_decluster.py": """
        DeclusterMustBeConstantNodes DeclusteringStopsAtMetadataOps EdgeAcrossDifferentClusters
        DontDeclusterXlaDeviceOps MetadataOpsDontStartClusters MetaConsumersArentDeclustered
        ConstInputsToSliceArentDeclustered ConstInLoopWithCrossDeviceControlInputsAreDeclustered
        """,
}
UNDER_OURS = {
    f"{JIT}mark_for_compilation.py": {
        "test_devices_without_kernels_hold_what_others_leave_out": "CallXlaDeviceFuncWithResourceOp",
        "test_scopes_of_a_user_count_where_the_session_asks_for_nothing": """
            CyclesWithAllDifferentScopesGlobalJitOverridden CyclesWithAllDifferentScopes CyclesWithSplittingScopes""",
        "test_a_node_without_a_scope_is_a_bridge": "CyclesWithDifferentScopesAndBridge",
        "test_stages_of_a_pipeline_stay_apart": "StagePipelinePreservedByClusterScopingPass",
    },
    "peers/test_on_tensorflow.py": {"test_groups_hold_ops_of_tensorflow": "XLALiteAllowlist"},
    "cluster_cases.py": {'"IdentityThatDrivesConstants"': "DontClusterTheSpecialIdentityDrivingConstsInLoop"},
    "compiler/graph/test_verify.py": {"cycle": "IllegalCycle_UsefulErrorMessage"},
    f"{JIT}deadness.py": {
        "test_loops_of_one_condition_are_alive_together_and_others_are_not": "Loop ControlEquivalentLoopBodies",
        "test_a_value_that_is_no_recurrence_is_a_symbol": "LoopInvariantPredicateOnBackedge",
        "test_nested_loops_of_the_same_conditions_are_alive_together": "ControlEquivalentNestedLoopBodies",
        "test_nested_loops_of_other_conditions_are_not": "ControlNonEquivalentNestedLoopBodies",
        "test_recurrences_of_one_start_and_step_are_others_in_another_frame": "AndRecurrenceNeedsFrameName",
    },
    f"{JIT}resource_safety.py": {"test_what_comes_back_in_a_loop_does_not_count": "ResourceLoop"},
    "compiler/tf2xla/test_constants.py": {'"calls"': "PartitionedCall", '"stateful"': "StatefulPartitionedCall"},
    f"{JIT}encapsulate_subgraphs.py": {
        "test_a_graph_without_clusters_stays": "NoFunctions",
        "test_one_cluster": "OneFunction",
        "test_two_clusters_take_from_each_other": "TwoFunctions",
        "test_what_two_nodes_take_of_another_cluster_is_one_argument": "InputDeduplication",
    },
    f"{JIT}build_xla_ops.py": {
        "test_who_waits_for_a_strict_cluster_waits_for_its_run": "ControlDepsPreserved",
        "test_bogus_attributes_are_refused": "CleanFailureOnBogusAttr",
        "test_lazy_clusters_run_either_way": "OnNonXlaDevice",
        "test_strict_clusters_are_compiled": "OnXlaDevice",
        "test_nothing_is_merged_for_nobody": "NoExtraMergeForEdgeToSink",
    },
    f"{JIT}partially_decluster.py": {
        "test_whole_numbers_for_the_host_are_computed_again": "ClusteredAndUnclustered DifferentClusters",
        "test_nothing_is_copied_where_nothing_goes_to_the_host": "DontDeclusterIfUserIsDeviceMem",
        "test_what_reads_variables_is_not_run_twice": "DontDuplicateResourceVarOps",
        "test_copies_take_from_copies": "DeclusterDependentNodes",
        "test_what_has_no_users_left_goes": "EliminatedUnusedNodes",
    },
    f"{JIT}increase_dynamism.py": {
        "test_what_is_left_is_computed_on_the_host": "Basic ControlDependencePreserved WithControlDepsToConstant",
        "test_only_what_is_needed_is_made": "SliceFromVector Int64Indices ScalarSlice",
        "test_other_slices_stay": """
            DontRewriteInvalidSlice DontRewriteUnclusteredSlice DontRewriteSliceWithNonConstSize IndicesNotVector
            DontRewriteSliceWithConstBegin""",
        "test_slices_of_slices_take_what_those_became": "SliceWithSliceInput SliceWithSliceBegin",
    },
    f"{JIT}device_compiler.py": {
        "test_strict_compilation_does_not_wait": "CompileStrictSuccess CompileCacheHit",
        "test_a_first_shape_is_compiled_at_once_and_others_at_their_second_request": """
            ShouldCompileClusterNotFound ShouldCompileClusterFirstExecution ShouldCompileClusterLazy RegisterExecution
            RegisterCompilation CompileShouldCompileClusterFalse""",
        "test_what_is_compiled_often_and_seldom_runs_is_megamorphic": "ShouldCompileClusterMegamorphic",
    },
}
NONE = {
    "ParallelChecking": "a debugging aid that TensorFlow took out again",
    "NoDeviceToHostCopiesForClustersWithInt32Inputs": "there is one memory for the integers of a device and the host",
    "CompilePersistentCacheEnabled": "executables on disk are XLABENCH_CACHE's: compiler/test_cache.py",
    "CompileFailedToLoadFromPersistentCache": "as above",
    "CompileStrictPersistentCacheFailedToPersist": "as above",
    "CompileStrictDebugInformationDumpWorks": "--tf_xla_clustering_debug and --xla_dump_to write what there is",
    "CompileSingleOpSuccess": "ops that compile one by one are kernels of sessions: xlabench/tensorflow/runtime",
    "Finalize": "nothing is held that could be freed early",
}


@pytest.mark.parametrize("file", sorted({*UNDER_THEIR_NAMES, *UNDER_OURS}))
def test_the_table_names_what_is_there(file):
    text = (TESTS / file).read_text(encoding="utf-8")
    names = [f'"{name}"' for name in UNDER_THEIR_NAMES.get(file, "").split()]
    assert [name for name in (*names, *UNDER_OURS.get(file, {})) if name not in text] == []


def test_no_case_is_counted_twice():
    here = [(file, case) for file, cases in UNDER_THEIR_NAMES.items() for case in cases.split()]
    here += [(file, case) for file, rows in UNDER_OURS.items() for cases in rows.values() for case in cases.split()]
    assert len(here) == len(set(here)) > 120
    assert not {case for _, case in here} & set(NONE)
