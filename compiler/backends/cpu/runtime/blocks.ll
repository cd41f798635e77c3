; Free lists of blocks, and NumPy arrays in them; blocks.py says what blocks and tokens are.

@warm = internal global [256 x ptr] zeroinitializer  ; free blocks by class, with memory behind them
@cold = internal global [256 x ptr] zeroinitializer  ; and without (only classes below 2 MiB)
@lock = internal global i32 0, align 64
; Bytes of warm blocks, of all mappings, how much may be free, blocks in use.
@statistics = global [4 x i64] [ i64 0, i64 0, i64 $limit, i64 0 ], align 64
@poison = global i32 -1                       ; the byte that new memory is filled with, if any

declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare i32 @sched_yield()
declare i64 @llvm.ctlz.i64(i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare ptr @PyCapsule_New(ptr, ptr, ptr)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @PyErr_NoMemory()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)

define internal void @take_lock() nounwind {
entry:
  br label %try
try:
  %old = atomicrmw xchg ptr @lock, i32 1 acquire
  %mine = icmp eq i32 %old, 0
  br i1 %mine, label %done, label %busy
busy:
  %ignored = call i32 @sched_yield()
  br label %try
done:
  ret void
}

; Also for the child of a fork, which may have copied the lock while another thread held it.
define void @drop_lock() nounwind {
  store atomic i32 0, ptr @lock release, align 4
  ret void
}

define internal void @count(i64 %which, i64 %change) nounwind {
  %place = getelementptr [4 x i64], ptr @statistics, i64 0, i64 %which
  %old = load i64, ptr %place
  %new = add i64 %old, %change
  store i64 %new, ptr %place
  ret void
}

; Class 4 e + q holds sizes up to (5 + q) 2^(e - 2); the smallest block is 16 KiB, so that all are whole pages.
define internal i64 @class_of(i64 %size) nounwind {
  %small = icmp ult i64 %size, 16384
  %floored = select i1 %small, i64 16384, i64 %size
  %highest = sub i64 %floored, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %highest, i1 true)
  %e = sub i64 63, %zeros
  %shift = sub i64 %e, 2
  %leading = lshr i64 %highest, %shift
  %q = and i64 %leading, 3
  %e4 = shl i64 %e, 2
  %class = or i64 %e4, %q
  ret i64 %class
}

define internal i64 @size_of(i64 %class) nounwind {
  %e = lshr i64 %class, 2
  %shift = sub i64 %e, 2
  %q = and i64 %class, 3
  %units = add i64 %q, 5
  %size = shl i64 %units, %shift
  ret i64 %size
}

; Maps so many bytes at a multiple of 2 MiB; null when there are none to be had.  Trimming nothing fails harmlessly.
define internal ptr @map(i64 %size) nounwind {
  %room = add i64 %size, 2097152
  %mapping = call ptr @mmap(ptr null, i64 %room, i32 3, i32 34, i32 -1, i64 0)
  %start = ptrtoint ptr %mapping to i64
  %failed = icmp eq i64 %start, -1
  br i1 %failed, label %none, label %trim
none:
  ret ptr null
trim:
  %raised = add i64 %start, 2097151
  %aligned = and i64 %raised, -2097152
  %before = sub i64 %aligned, %start
  %x = call i32 @munmap(ptr %mapping, i64 %before)
  %end = add i64 %aligned, %size
  %behind = inttoptr i64 %end to ptr
  %after = sub i64 2097152, %before
  %y = call i32 @munmap(ptr %behind, i64 %after)
  %block = inttoptr i64 %aligned to ptr
  %z = call i32 @madvise(ptr %block, i64 %size, i32 14)
  call void @count(i64 1, i64 %size)
  ret ptr %block
}

; The first word of a free block is the next one of its list.
define internal void @push(ptr %list, i64 %class, ptr %block) nounwind {
  %head = getelementptr [256 x ptr], ptr %list, i64 0, i64 %class
  %next = load ptr, ptr %head
  store ptr %next, ptr %block
  store ptr %block, ptr %head
  ret void
}

define internal ptr @pop(ptr %list, i64 %class) nounwind {
  %head = getelementptr [256 x ptr], ptr %list, i64 0, i64 %class
  %block = load ptr, ptr %head
  %empty = icmp eq ptr %block, null
  br i1 %empty, label %done, label %some
some:
  %next = load ptr, ptr %block
  store ptr %next, ptr %head
  br label %done
done:
  ret ptr %block
}

define internal ptr @pop_warm(i64 %class) nounwind {
  %block = call ptr @pop(ptr @warm, i64 %class)
  %empty = icmp eq ptr %block, null
  br i1 %empty, label %done, label %some
some:
  %size = call i64 @size_of(i64 %class)
  %negative = sub i64 0, %size
  call void @count(i64 0, i64 %negative)
  br label %done
done:
  ret ptr %block
}

; Maps fresh blocks: one, or, below 2 MiB (class 83), as many as fit where four do.
define internal ptr @refill(i64 %class) nounwind {
entry:
  %size = call i64 @size_of(i64 %class)
  %large = icmp uge i64 %class, 83
  br i1 %large, label %one, label %several
one:
  %single = call ptr @map(i64 %size)
  ret ptr %single
several:
  %four = shl i64 %size, 2
  %raised = add i64 %four, 2097151
  %room = and i64 %raised, -2097152
  %first = call ptr @map(i64 %room)
  %failed = icmp eq ptr %first, null
  %last = sub i64 %room, %size
  br i1 %failed, label %done, label %cut
cut:
  %offset = phi i64 [ %size, %several ], [ %following, %keep ]
  %fits = icmp ule i64 %offset, %last
  br i1 %fits, label %keep, label %done
keep:
  %block = getelementptr i8, ptr %first, i64 %offset
  call void @push(ptr @cold, i64 %class, ptr %block)
  %following = add i64 %offset, %size
  br label %cut
done:
  ret ptr %first
}

; Takes the memory from behind a free block.
define internal void @dispose(i64 %class, ptr %block) nounwind {
  %size = call i64 @size_of(i64 %class)
  %large = icmp uge i64 %class, 83
  br i1 %large, label %unmap, label %cool
unmap:
  %x = call i32 @munmap(ptr %block, i64 %size)
  %negative = sub i64 0, %size
  call void @count(i64 1, i64 %negative)
  ret void
cool:
  %y = call i32 @madvise(ptr %block, i64 %size, i32 4)
  call void @push(ptr @cold, i64 %class, ptr %block)
  ret void
}

; Disposes of a warm block of another class, the largest there is; the smallest class is 55.
define internal i1 @evict(i64 %class) nounwind {
entry:
  br label %look
look:
  %other = phi i64 [ 255, %entry ], [ %lower, %next ]
  %same = icmp eq i64 %other, %class
  br i1 %same, label %next, label %try
try:
  %block = call ptr @pop_warm(i64 %other)
  %found = icmp ne ptr %block, null
  br i1 %found, label %drop, label %next
drop:
  call void @dispose(i64 %other, ptr %block)
  ret i1 true
next:
  %lower = sub i64 %other, 1
  %more = icmp uge i64 %lower, 55
  br i1 %more, label %look, label %none
none:
  ret i1 false
}

define internal void @fill(ptr %block, i64 %size) nounwind {
  %value = load i32, ptr @poison
  %off = icmp slt i32 %value, 0
  br i1 %off, label %done, label %fill
fill:
  %byte = trunc i32 %value to i8
  call void @llvm.memset.p0.i64(ptr %block, i8 %byte, i64 %size, i1 false)
  br label %done
done:
  ret void
}

; A token for a block of at least that size, or 0.
define i64 @acquire(i64 %size) nounwind {
  %class = call i64 @class_of(i64 %size)
  call void @take_lock()
  %warm = call ptr @pop_warm(i64 %class)
  %no_warm = icmp eq ptr %warm, null
  br i1 %no_warm, label %try_cold, label %done
try_cold:
  %cold = call ptr @pop(ptr @cold, i64 %class)
  %no_cold = icmp eq ptr %cold, null
  br i1 %no_cold, label %try_fresh, label %done
try_fresh:
  %fresh = call ptr @refill(i64 %class)
  %failed = icmp eq ptr %fresh, null
  br i1 %failed, label %none, label %done
none:
  call void @drop_lock()
  ret i64 0
done:
  %block = phi ptr [ %warm, %0 ], [ %cold, %try_cold ], [ %fresh, %try_fresh ]
  call void @count(i64 3, i64 1)
  call void @drop_lock()
  call void @fill(ptr %block, i64 %size)
  %address = ptrtoint ptr %block to i64
  %token = or i64 %address, %class
  ret i64 %token
}

define void @release(i64 %token) nounwind {
entry:
  %class = and i64 %token, 4095
  %address = and i64 %token, -4096
  %block = inttoptr i64 %address to ptr
  %size = call i64 @size_of(i64 %class)
  call void @take_lock()
  call void @count(i64 3, i64 -1)
  %limit = load i64, ptr getelementptr ([4 x i64], ptr @statistics, i64 0, i64 2)
  br label %weigh
weigh:
  %cached = load i64, ptr @statistics
  %sum = add i64 %cached, %size
  %fits = icmp ule i64 %sum, %limit
  br i1 %fits, label %keep, label %over
over:
  %evicted = call i1 @evict(i64 %class)
  br i1 %evicted, label %weigh, label %drop
keep:
  call void @push(ptr @warm, i64 %class, ptr %block)
  call void @count(i64 0, i64 %size)
  br label %done
drop:
  call void @dispose(i64 %class, ptr %block)
  br label %done
done:
  call void @drop_lock()
  ret void
}

define internal void @release_capsule(ptr %capsule) {
  %pointer = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  %token = ptrtoint ptr %pointer to i64
  call void @release(i64 %token)
  ret void
}

; A new array, contents undefined; null with a Python exception set where memory is out.
define ptr @new_array(ptr %descr, i32 %rank, ptr %dims, i64 %bytes) {
  %plain = icmp ult i64 %bytes, $recycled_from
  br i1 %plain, label %small, label %large
small:
  call void @Py_IncRef(ptr %descr)
  %array = call ptr $new_from_descr(ptr $array_type, ptr %descr, i32 %rank, ptr %dims, ptr null, ptr null,
                                   i32 0, ptr null)
  %missing = icmp eq ptr %array, null
  br i1 %missing, label %failed, label %filling
filling:
  %place = getelementptr i8, ptr %array, i64 $data
  %contents = load ptr, ptr %place
  call void @fill(ptr %contents, i64 %bytes)
  ret ptr %array
large:
  %token = call i64 @acquire(i64 %bytes)
  %named = inttoptr i64 %token to ptr
  %none = icmp eq i64 %token, 0
  br i1 %none, label %out_of_memory, label %own
out_of_memory:
  %null = call ptr @PyErr_NoMemory()
  br label %failed
own:
  %capsule = call ptr @PyCapsule_New(ptr %named, ptr null, ptr @release_capsule)
  %unowned = icmp eq ptr %capsule, null
  br i1 %unowned, label %return_block, label %wrap
return_block:
  call void @release(i64 %token)
  br label %failed
wrap:
  call void @Py_IncRef(ptr %descr)
  %address = and i64 %token, -4096
  %data = inttoptr i64 %address to ptr
  %recycled = call ptr $new_from_descr(ptr $array_type, ptr %descr, i32 %rank, ptr %dims, ptr null, ptr %data,
                                      i32 $behaved, ptr null)
  %unwrapped = icmp eq ptr %recycled, null
  br i1 %unwrapped, label %drop_capsule, label %bind
drop_capsule:
  call void @Py_DecRef(ptr %capsule)
  br label %failed
bind:
  %set = call i32 $set_base_object(ptr %recycled, ptr %capsule)
  ret ptr %recycled
failed:
  ret ptr null
}
