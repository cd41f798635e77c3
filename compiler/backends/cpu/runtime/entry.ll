; The built-in function that calls a compiled program.
;
; `self` is a bytes object that holds the program's table of words: the remainder's callable, the program, the numbers
; of parameters and results, the arena's bytes, the threads, whether the lock is released, the work that threads share;
; then a row for each array: dtype, bytes, rank, dimensions.

declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyList_New(i64)
declare i32 @PyList_SetItem(ptr, i64, ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyErr_NoMemory()
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)

define internal i64 @word(ptr %table, i64 %index) alwaysinline nounwind {
  %place = getelementptr i64, ptr %table, i64 %index
  %word = load i64, ptr %place
  ret i64 %word
}

; Whether an object is an array as the row of the table says: dtype, rank, dimensions.
define internal i1 @fits(ptr %object, ptr %row) nounwind {
entry:
  %at_type = getelementptr i8, ptr %object, i64 $type
  %type = load i64, ptr %at_type
  %is_array = icmp eq i64 %type, $ndarray
  br i1 %is_array, label %fields, label %no
fields:
  %at_descr = getelementptr i8, ptr %object, i64 $descr
  %descr = load i64, ptr %at_descr
  %want_descr = call i64 @word(ptr %row, i64 0)
  %same_descr = icmp eq i64 %descr, %want_descr
  %at_rank = getelementptr i8, ptr %object, i64 $rank
  %rank32 = load i32, ptr %at_rank
  %rank = sext i32 %rank32 to i64
  %want_rank = call i64 @word(ptr %row, i64 2)
  %same_rank = icmp eq i64 %rank, %want_rank
  %at_flags = getelementptr i8, ptr %object, i64 $flags
  %flags = load i32, ptr %at_flags
  %needed = and i32 %flags, $contiguous_aligned
  %usable = icmp eq i32 %needed, $contiguous_aligned
  %same = and i1 %same_descr, %same_rank
  %good = and i1 %same, %usable
  br i1 %good, label %shape, label %no
shape:
  %at_dims = getelementptr i8, ptr %object, i64 $dims
  %dims = load ptr, ptr %at_dims
  %want_dims = getelementptr i64, ptr %row, i64 3
  br label %dimension
dimension:
  %axis = phi i64 [ 0, %shape ], [ %following, %compare ]
  %all = icmp eq i64 %axis, %rank
  br i1 %all, label %yes, label %compare
compare:
  %extent = call i64 @word(ptr %dims, i64 %axis)
  %want_extent = call i64 @word(ptr %want_dims, i64 %axis)
  %following = add i64 %axis, 1
  %equal = icmp eq i64 %extent, %want_extent
  br i1 %equal, label %dimension, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define internal ptr @data_of(ptr %array) alwaysinline nounwind {
  %place = getelementptr i8, ptr %array, i64 $data
  %data = load ptr, ptr %place
  ret ptr %data
}

define internal ptr @row_after(ptr %row) alwaysinline nounwind {
  %rank = call i64 @word(ptr %row, i64 2)
  %words = add i64 %rank, 3
  %next = getelementptr i64, ptr %row, i64 %words
  ret ptr %next
}

define internal void @execute(ptr %table, ptr %parameters, ptr %results, ptr %arena) nounwind {
  %address = call i64 @word(ptr %table, i64 1)
  %program = inttoptr i64 %address to ptr
  %threads = call i64 @word(ptr %table, i64 5)
  %single = icmp eq i64 %threads, 1
  br i1 %single, label %alone, label %together
alone:
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr null)
  ret void
together:
  %work = call i64 @word(ptr %table, i64 7)
  call void $run(ptr %program, ptr %parameters, ptr %results, ptr %arena, i64 %threads, i64 %work)
  ret void
}

; Leases the arena and runs; false with an exception set where there is no memory for it.
define internal i1 @perform(ptr %table, ptr %parameters, ptr %results) {
entry:
  %bytes = call i64 @word(ptr %table, i64 4)
  %frugal = icmp eq i64 %bytes, 0
  br i1 %frugal, label %ready, label %lease
lease:
  %leased = call i64 $acquire(i64 %bytes)
  %failed = icmp eq i64 %leased, 0
  br i1 %failed, label %out_of_memory, label %ready
out_of_memory:
  %null = call ptr @PyErr_NoMemory()
  ret i1 false
ready:
  %token = phi i64 [ 0, %entry ], [ %leased, %lease ]
  %address = and i64 %token, -4096
  %arena = inttoptr i64 %address to ptr
  %releases = call i64 @word(ptr %table, i64 6)
  %holds = icmp eq i64 %releases, 0
  br i1 %holds, label %holding, label %releasing
holding:
  call void @execute(ptr %table, ptr %parameters, ptr %results, ptr %arena)
  br label %ran
releasing:
  %state = call ptr @PyEval_SaveThread()
  call void @execute(ptr %table, ptr %parameters, ptr %results, ptr %arena)
  call void @PyEval_RestoreThread(ptr %state)
  br label %ran
ran:
  br i1 %frugal, label %done, label %return
return:
  call void $release(i64 %token)
  br label %done
done:
  ret i1 true
}

define ptr @call(ptr %self, ptr %arguments, i64 %count) {
entry:
  %table = getelementptr i8, ptr %self, i64 $bytes_data
  %parameters = call i64 @word(ptr %table, i64 2)
  %results = call i64 @word(ptr %table, i64 3)
  %threads = call i64 @word(ptr %table, i64 5)
  %capacity = load atomic i64, ptr $capacity monotonic, align 8
  %short = sub i64 %threads, 1
  %enough = icmp ule i64 %short, %capacity
  %complete = icmp eq i64 %count, %parameters
  %may = and i1 %enough, %complete
  %rows = getelementptr i64, ptr %table, i64 8
  %pointers = add i64 %parameters, %results
  %ins = alloca ptr, i64 %pointers
  %outs = getelementptr ptr, ptr %ins, i64 %parameters
  br i1 %may, label %parameter, label %remainder
parameter:
  %i = phi i64 [ 0, %entry ], [ %next_i, %take ]
  %row = phi ptr [ %rows, %entry ], [ %next_row, %take ]
  %checked = icmp eq i64 %i, %parameters
  br i1 %checked, label %make, label %check
check:
  %at = getelementptr ptr, ptr %arguments, i64 %i
  %object = load ptr, ptr %at
  %fits = call i1 @fits(ptr %object, ptr %row)
  br i1 %fits, label %take, label %remainder
take:
  %data = call ptr @data_of(ptr %object)
  %in = getelementptr ptr, ptr %ins, i64 %i
  store ptr %data, ptr %in
  %next_i = add i64 %i, 1
  %next_row = call ptr @row_after(ptr %row)
  br label %parameter
remainder:
  %slow = load ptr, ptr %table
  %answer = call ptr @PyObject_Vectorcall(ptr %slow, ptr %arguments, i64 %count, ptr null)
  ret ptr %answer
make:
  %list = call ptr @PyList_New(i64 %results)
  %no_list = icmp eq ptr %list, null
  br i1 %no_list, label %fail, label %result
result:
  %j = phi i64 [ 0, %make ], [ %next_j, %give ]
  %result_row = phi ptr [ %row, %make ], [ %next_result_row, %give ]
  %made = icmp eq i64 %j, %results
  br i1 %made, label %run, label %create
create:
  %descr = load ptr, ptr %result_row
  %bytes = call i64 @word(ptr %result_row, i64 1)
  %rank = call i64 @word(ptr %result_row, i64 2)
  %rank32 = trunc i64 %rank to i32
  %dims = getelementptr i64, ptr %result_row, i64 3
  %array = call ptr $new_array(ptr %descr, i32 %rank32, ptr %dims, i64 %bytes)
  %no_array = icmp eq ptr %array, null
  br i1 %no_array, label %drop, label %give
give:
  %set = call i32 @PyList_SetItem(ptr %list, i64 %j, ptr %array)
  %target = call ptr @data_of(ptr %array)
  %out = getelementptr ptr, ptr %outs, i64 %j
  store ptr %target, ptr %out
  %next_j = add i64 %j, 1
  %next_result_row = call ptr @row_after(ptr %result_row)
  br label %result
run:
  %done = call i1 @perform(ptr %table, ptr %ins, ptr %outs)
  br i1 %done, label %return, label %drop
return:
  ret ptr %list
drop:
  call void @Py_DecRef(ptr %list)
  br label %fail
fail:
  ret ptr null
}
