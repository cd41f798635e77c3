; What a program compiled for checked bounds calls before each access, and where the first one that is wrong is noted:
; out of bounds, or of what another chunk of the same phase has touched, where either writes.
;
; An access that is out of bounds, or not aligned as it says, does not happen: it is led to spare memory, masked lanes are
; masked off, and a copy copies nothing.  So the process lives on to say what was wrong.

@record = global [5 x i64] zeroinitializer, align 64
; What is noted, 0 for nothing; then where, as the address of a string.  Of what is out of bounds (1): the offset within
; the memory that the address was made from; the bytes of the access; the bytes of that memory.  Of a race (2): the chunk
; that came; the one that was there before; 1 where that one wrote, and 2 where this one does.

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

; What chunks of a phase touch, in a table by addresses: {address, state}, where the state is the number of the phase, 40
; bits, whether it was written, and the chunk, 23 bits, or all ones of them if several have read it.  An address that
; comes to the cell of another takes it over, so what is forgotten is told of by nothing, and what is told of is so.
@chunk = internal global i64 -1               ; the one that runs, -1 where all is done by one thread
@phase = internal global i64 0                ; how many phases have begun
@frame = internal global i64 0                ; where the phase's frame ends: below lies what is a chunk's alone

declare ptr @llvm.frameaddress.p0(i32 immarg)

; Before a chunk, of which the last one comes first.
define void @begin(i64 %chunk, i64 %chunks, ptr %frame) {
  %following = add i64 %chunk, 1
  %first = icmp eq i64 %following, %chunks
  %one = zext i1 %first to i64
  %before = load i64, ptr @phase
  %phase = add i64 %before, %one
  store i64 %phase, ptr @phase
  %cut = icmp ugt i64 %chunks, 1
  %named = select i1 %cut, i64 %chunk, i64 -1
  store i64 %named, ptr @chunk
  %end = ptrtoint ptr %frame to i64
  store i64 %end, ptr @frame
  ret void
}

; Behind it.
define void @end() {
  store i64 -1, ptr @chunk
  ret void
}

define internal void @tell(i64 %chunk, i64 %other, i64 %how, ptr %site) noinline {
entry:
  %pair = cmpxchg ptr @record, i64 0, i64 2 seq_cst seq_cst
  %first = extractvalue { i64, i1 } %pair, 1
  br i1 %first, label %fill, label %done
fill:
  %text = ptrtoint ptr %site to i64
  store i64 %text, ptr getelementptr (i8, ptr @record, i64 8)
  store i64 %chunk, ptr getelementptr (i8, ptr @record, i64 16)
  store i64 %other, ptr getelementptr (i8, ptr @record, i64 24)
  store i64 %how, ptr getelementptr (i8, ptr @record, i64 32)
  br label %done
done:
  ret void
}

; One element, which is read (0), written (1) or written without being changed (2).  The last does no harm to others, who
; see the same before and behind it.
define internal void @touch_one(i64 %address, i64 %chunk, i64 %how, ptr %site) {
entry:
  %page = lshr i64 %address, $cell_bits
  %spread = mul i64 %page, 2654435769
  %mixed = add i64 %address, %spread
  %number = and i64 %mixed, $cell_mask
  %cell = getelementptr { i64, i64 }, ptr $cells, i64 %number
  %state_at = getelementptr i8, ptr %cell, i64 8
  %known = load i64, ptr %cell
  %state = load i64, ptr %state_at
  %phase = load i64, ptr @phase
  %then = lshr i64 %state, 24
  %same = icmp eq i64 %known, %address
  %present = icmp eq i64 %then, %phase
  %live = and i1 %same, %present
  %reads = icmp eq i64 %how, 0
  %writes = select i1 %reads, i64 0, i64 1
  %written_bit = shl i64 %writes, 23
  br i1 %live, label %look, label %fresh
fresh:
  %high = shl i64 %phase, 24
  %owned = or i64 %high, %chunk
  %begun = or i64 %owned, %written_bit
  store i64 %address, ptr %cell
  store i64 %begun, ptr %state_at
  ret void
look:
  %owner = and i64 %state, 8388607
  %mine = icmp eq i64 %owner, %chunk
  br i1 %mine, label %own, label %other
own:
  %more = or i64 %state, %written_bit
  store i64 %more, ptr %state_at
  ret void
other:
  %shifted = lshr i64 %state, 23
  %wrote = and i64 %shifted, 1
  %either = or i64 %wrote, %writes
  %apart = icmp eq i64 %either, 0
  br i1 %apart, label %several, label %meet
several:
  %all = or i64 %state, 8388607
  store i64 %all, ptr %state_at
  ret void
meet:
  %same_bits = icmp eq i64 %how, 2
  br i1 %same_bits, label %done, label %race
race:
  %twice = shl i64 %writes, 1
  %both = or i64 %wrote, %twice
  call void @tell(i64 %chunk, i64 %owner, i64 %both, ptr %site)
  br label %done
done:
  ret void
}

; Whether an address is one that others may touch as well, while a chunk of several runs.
define internal i1 @is_shared(i64 %address, i64 %here) {
  %chunk = load i64, ptr @chunk
  %within = icmp sge i64 %chunk, 0
  %end = load i64, ptr @frame
  %below = icmp ult i64 %address, %end
  %above = icmp ugt i64 %address, %here
  %own = and i1 %below, %above
  %foreign = xor i1 %own, true
  %both = and i1 %within, %foreign
  ret i1 %both
}

; Elements of `step` bytes, one behind the other, each known by its first byte.
define void @touch(ptr %pointer, i64 %size, i64 %step, i64 %writes, ptr %site) {
entry:
  %address = ptrtoint ptr %pointer to i64
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %here = ptrtoint ptr %frame to i64
  %shared = call i1 @is_shared(i64 %address, i64 %here)
  %some = icmp ne i64 %size, 0
  %go = and i1 %shared, %some
  %chunk = load i64, ptr @chunk
  br i1 %go, label %element, label %done
element:
  %offset = phi i64 [ 0, %entry ], [ %next, %element ]
  %at = add i64 %address, %offset
  call void @touch_one(i64 %at, i64 %chunk, i64 %writes, ptr %site)
  %next = add i64 %offset, %step
  %more = icmp ult i64 %next, %size
  br i1 %more, label %element, label %done
done:
  ret void
}

; Those of some lanes, as bits; of those that a store writes some are changed.
define void @touch_lanes(ptr %pointer, i64 %lanes, i64 %step, i64 %writes, i64 %changed, ptr %site) {
entry:
  %address = ptrtoint ptr %pointer to i64
  %frame = call ptr @llvm.frameaddress.p0(i32 0)
  %here = ptrtoint ptr %frame to i64
  %shared = call i1 @is_shared(i64 %address, i64 %here)
  %chunk = load i64, ptr @chunk
  br i1 %shared, label %lane, label %done
lane:
  %left = phi i64 [ %lanes, %entry ], [ %rest, %after ]
  %news = phi i64 [ %changed, %entry ], [ %other_news, %after ]
  %at = phi i64 [ %address, %entry ], [ %next, %after ]
  %bit = and i64 %left, 1
  %wanted = icmp ne i64 %bit, 0
  br i1 %wanted, label %one, label %after
one:
  %new = and i64 %news, 1
  %kind = sub i64 2, %new
  %how = mul i64 %writes, %kind
  call void @touch_one(i64 %at, i64 %chunk, i64 %how, ptr %site)
  br label %after
after:
  %rest = lshr i64 %left, 1
  %other_news = lshr i64 %news, 1
  %next = add i64 %at, %step
  %more = icmp ne i64 %rest, 0
  br i1 %more, label %lane, label %done
done:
  ret void
}
