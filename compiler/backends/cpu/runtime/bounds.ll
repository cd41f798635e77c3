; What a program compiled for checked bounds calls before each access, and where the first one that is out of bounds is
; noted.
;
; An access that is out of bounds, or not aligned as it says, does not happen: it is led to spare memory, masked lanes are
; masked off, and a copy copies nothing.  So the process lives on to say what was wrong.

@record = global [5 x i64] zeroinitializer, align 64
; Whether something is noted; then what, as the address of a string; the offset within the memory that the address was
; made from; the bytes of the access; the bytes of that memory.

@spare = internal global [4096 x i8] zeroinitializer, align 64

define internal void @note(i64 %address, i64 %size, i64 %low, i64 %high, ptr %site) noinline {
entry:
  %pair = cmpxchg ptr @record, i64 0, i64 1 seq_cst seq_cst
  %first = extractvalue { i64, i1 } %pair, 1
  br i1 %first, label %fill, label %done
fill:
  %place = sub i64 %address, %low
  %extent = sub i64 %high, %low
  %text = ptrtoint ptr %site to i64
  store i64 %text, ptr getelementptr (i8, ptr @record, i64 8)
  store i64 %place, ptr getelementptr (i8, ptr @record, i64 16)
  store i64 %size, ptr getelementptr (i8, ptr @record, i64 24)
  store i64 %extent, ptr getelementptr (i8, ptr @record, i64 32)
  br label %done
done:
  ret void
}

define internal i1 @is_bad(i64 %address, i64 %size, i64 %align, i64 %low, i64 %high) {
  %end = add i64 %address, %size
  %below = icmp ult i64 %address, %low
  %above = icmp ugt i64 %end, %high
  %beside = or i1 %below, %above
  %mask = sub i64 %align, 1
  %bits = and i64 %address, %mask
  %askew = icmp ne i64 %bits, 0
  %bad = or i1 %beside, %askew
  ret i1 %bad
}

; The pointer, or one to spare memory.
define ptr @check(ptr %pointer, i64 %size, i64 %align, i64 %low, i64 %high, ptr %site) {
entry:
  %address = ptrtoint ptr %pointer to i64
  %bad = call i1 @is_bad(i64 %address, i64 %size, i64 %align, i64 %low, i64 %high)
  br i1 %bad, label %wrong, label %right
wrong:
  call void @note(i64 %address, i64 %size, i64 %low, i64 %high, ptr %site)
  ret ptr @spare
right:
  ret ptr %pointer
}

; How many bytes may be copied: all, or none.
define i64 @check_length(ptr %pointer, i64 %size, i64 %low, i64 %high, ptr %site) {
entry:
  %none = icmp eq i64 %size, 0
  br i1 %none, label %right, label %look
look:
  %address = ptrtoint ptr %pointer to i64
  %bad = call i1 @is_bad(i64 %address, i64 %size, i64 1, i64 %low, i64 %high)
  br i1 %bad, label %wrong, label %right
wrong:
  call void @note(i64 %address, i64 %size, i64 %low, i64 %high, ptr %site)
  ret i64 0
right:
  ret i64 %size
}

; Those of some lanes, as bits, each of `size` bytes behind the one before, that may be touched.
define i64 @check_lanes(ptr %pointer, i64 %lanes, i64 %size, i64 %align, i64 %low, i64 %high, ptr %site) {
entry:
  %first = ptrtoint ptr %pointer to i64
  br label %lane
lane:
  %number = phi i64 [ 0, %entry ], [ %next, %after ]
  %kept = phi i64 [ %lanes, %entry ], [ %keeps, %after ]
  %bit = shl i64 1, %number
  %mine = and i64 %lanes, %bit
  %wanted = icmp ne i64 %mine, 0
  br i1 %wanted, label %look, label %after
look:
  %ahead = mul i64 %number, %size
  %address = add i64 %first, %ahead
  %bad = call i1 @is_bad(i64 %address, i64 %size, i64 %align, i64 %low, i64 %high)
  br i1 %bad, label %wrong, label %after
wrong:
  call void @note(i64 %address, i64 %size, i64 %low, i64 %high, ptr %site)
  %others = xor i64 %bit, -1
  %fewer = and i64 %kept, %others
  br label %after
after:
  %keeps = phi i64 [ %kept, %lane ], [ %kept, %look ], [ %fewer, %wrong ]
  %next = add i64 %number, 1
  %rest = lshr i64 %lanes, %number
  %again = icmp ugt i64 %rest, 1
  br i1 %again, label %lane, label %done
done:
  ret i64 %keeps
}
