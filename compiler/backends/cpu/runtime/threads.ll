; The team: how the thread that calls a program hands chunks of its phases to others, and never waits for one that has
; not come.
;
; The caller alone walks the program.  Of each phase it posts a board: the code, and the next chunk that nobody has
; taken.  Whoever runs takes chunks off it, the caller too, so a worker that does not come costs nothing; the caller waits
; only for chunks that a worker has begun.  A chunk is the same work whoever does it, so results do not depend on it.
;
; The board's first word holds a count of phases above the next chunk's number.  A worker takes a chunk by raising that
; word, which fails where another phase has been posted since the worker read what stands below; so it never runs the
; code of one phase on a chunk of another.
;
; A wait spins for about 30 us, in which most phases end (a hand-over by spinning takes 0.2 us, a futex wake-up 40 to
; 110), then sleeps on a futex, so that an idle team costs nothing and a busy machine makes progress.  It does not yield
; in between: beside a busy process every yield costs a time slice, while a sleeper is run soon after it is woken.
; Beside each word to watch stands the number of its sleepers, so that whoever changes the word makes a system call only
; where somebody sleeps.  Both are sequentially consistent: either the waker sees the sleeper, or the sleeper's futex call
; sees the changed word.
;
; To wake a worker takes the caller some 5 us, and the worker comes late.  So it is woken for work that lasts, be it one
; phase or many calls soon after each other (`credit`).  And what sharing has saved is held against what the caller has
; waited (`balance`): where workers are kept off their cores by others, it waits more than it saves, and the team rests
; for some times as long as it has lost, then tries again.
;
; A chunk that somebody has begun is waited for, however slowly it is run.  So where that took long (`notice`), phases that
; may be cut more finely are for a while (`held_up`): who is off its core then holds less of them.
;
; Times are ticks of the processor's counter.  Words that different threads write lie at least two cache lines apart,
; which processors fetch together.

%line = type { i32, [124 x i8] }
%board = type { i64, ptr, ptr, i64, ptr, ptr, ptr, [72 x i8] }
; phases and the next chunk; code; what it is given beside the program's pointers; chunks; parameters; results; arena

@team = global ptr @share, align 128          ; what a program is given: its first word is the code of `share`
@board = internal global %board zeroinitializer, align 128
@sleepers = global %line zeroinitializer, align 128   ; workers that wait for the board
@finished = internal global %line zeroinitializer, align 128   ; chunks of the phase that workers have done
@joiners = internal global %line zeroinitializer, align 128    ; callers that wait for those
@busy = internal global %line zeroinitializer, align 128       ; whether a program has the team
@home = internal global %line { i32 -1, [124 x i8] zeroinitializer }, align 128  ; the core that it was called on
@stopping = internal global i32 0, align 128
@eager = global i32 0                         ; 1: the caller leaves to workers all chunks but the first, of as many as there may be; 2: it does them all, the last one first

@capacity = global i64 0, align 128           ; threads that have been asked for, but for the caller
@workers = global i64 0                       ; workers there are
@patience = global i32 64                     ; looks of a spinning wait
@tick_scale = global i64 1024                 ; ticks in 1,024 ns
@rest_until = internal global i64 0           ; ticks
@last = internal global i64 0                 ; when the last program ended
; What only the program that has the team touches: ns of work, and ticks.
@credit = internal global i64 0
@balance = internal global i64 0
@most_balance = global i64 0
@held_up = global i64 0                       ; how many phases more are cut finely

declare i64 @syscall(i64, ...)
declare i32 @sched_getcpu()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.usub.sat.i64(i64, i64)
$declarations

define i64 @ticks() nounwind {
  %now = $read_counter
  ret i64 %now
}

define internal i64 @in_ticks(i64 %ns) nounwind {
  %scale = load i64, ptr @tick_scale
  %scaled = mul i64 %ns, %scale
  %ticks = ashr i64 %scaled, 10
  ret i64 %ticks
}

; Returns when the word is no longer the old one; `first` is the look to begin with: 0, or -1 for straight to sleep.
define internal void @await(ptr %word, i32 %old, ptr %sleepers, i32 %first) nounwind {
entry:
  %limit = load i32, ptr @patience
  br label %look
look:
  %count = phi i32 [ %first, %entry ], [ %next, %relax ], [ 0, %sleep ]
  %now = load atomic i32, ptr %word acquire, align 4
  %changed = icmp ne i32 %now, %old
  br i1 %changed, label %done, label %idle
idle:
  %next = add i32 %count, 1
  %spin = icmp ult i32 %count, %limit
  br i1 %spin, label %relax, label %sleep
relax:
  $pause
  br label %look
sleep:
  %in = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %woken = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 128, i32 %old, ptr null)
  %out = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %look
done:
  ret void
}

define internal void @wake(ptr %word, i32 %most) nounwind {
  %woken = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 129, i32 %most)
  ret void
}

; Wakes workers for the phase just posted, if it, or what has been done lately without them, is worth it.
define internal void @attract(i64 %chunks, i64 %work) nounwind {
entry:
  %sleeping = load atomic i32, ptr @sleepers seq_cst, align 4
  %none = icmp eq i32 %sleeping, 0
  br i1 %none, label %done, label %some
some:
  %eager = load i32, ptr @eager
  %always = icmp ne i32 %eager, 0
  %workers = load i64, ptr @workers
  %asleep = zext i32 %sleeping to i64
  %all = icmp uge i64 %asleep, %workers
  %before = load i64, ptr @credit
  %base = select i1 %all, i64 %before, i64 0
  %credit = add i64 %base, %work
  store i64 %credit, ptr @credit
  %enough = icmp uge i64 %credit, $waking_pays
  %pays = or i1 %enough, %always
  br i1 %pays, label %call, label %done
call:
  store i64 0, ptr @credit
  %most = trunc i64 %chunks to i32
  call void @wake(ptr getelementptr (i8, ptr @board, i64 4), i32 %most)
  br label %done
done:
  ret void
}

; Takes a chunk of a phase, or -1 where there is none left or another phase has been posted.
define internal i64 @take(i64 %phases, i64 %chunks) nounwind {
entry:
  %first = load atomic i64, ptr @board acquire, align 8
  br label %look
look:
  %seen = phi i64 [ %first, %entry ], [ %now, %try ]
  %count = lshr i64 %seen, 32
  %chunk = and i64 %seen, 4294967295
  %same = icmp eq i64 %count, %phases
  %left = icmp ult i64 %chunk, %chunks
  %open = and i1 %same, %left
  br i1 %open, label %try, label %none
try:
  %raised = add i64 %seen, 1
  %exchange = cmpxchg ptr @board, i64 %seen, i64 %raised acq_rel acquire
  %now = extractvalue { i64, i1 } %exchange, 0
  %taken = extractvalue { i64, i1 } %exchange, 1
  br i1 %taken, label %mine, label %look
mine:
  ret i64 %chunk
none:
  ret i64 -1
}

define void @worker() nounwind {
entry:
  br label %look
look:
  %before = load atomic i64, ptr @board acquire, align 8
  %stop = load atomic i32, ptr @stopping acquire, align 4
  %ends = icmp ne i32 %stop, 0
  br i1 %ends, label %done, label %read
read:
  %phases = lshr i64 %before, 32
  %code = load atomic ptr, ptr getelementptr (%board, ptr @board, i64 0, i32 1) monotonic, align 8
  %context = load atomic ptr, ptr getelementptr (%board, ptr @board, i64 0, i32 2) monotonic, align 8
  %chunks = load atomic i64, ptr getelementptr (%board, ptr @board, i64 0, i32 3) monotonic, align 8
  %parameters = load atomic ptr, ptr getelementptr (%board, ptr @board, i64 0, i32 4) monotonic, align 8
  %results = load atomic ptr, ptr getelementptr (%board, ptr @board, i64 0, i32 5) monotonic, align 8
  %arena = load atomic ptr, ptr getelementptr (%board, ptr @board, i64 0, i32 6) monotonic, align 8
  %chunk = call i64 @take(i64 %phases, i64 %chunks)
  %none = icmp slt i64 %chunk, 0
  br i1 %none, label %wait, label %go
go:
  call void %code(ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %chunk, i64 %chunks)
  %old = atomicrmw add ptr @finished, i32 1 seq_cst
  %joining = load atomic i32, ptr @joiners seq_cst, align 4
  %nobody = icmp eq i32 %joining, 0
  br i1 %nobody, label %look, label %notify
notify:
  call void @wake(ptr @finished, i32 1)
  br label %look
wait:
  ; Spinning on the caller's own core only keeps the caller off it, and the scheduler moves sleepers, not spinners.
  %home = load atomic i32, ptr @home monotonic, align 4
  %here = call i32 @sched_getcpu()
  %crowded = icmp eq i32 %here, %home
  %first = sext i1 %crowded to i32
  %seen = trunc i64 %phases to i32
  call void @await(ptr getelementptr (i8, ptr @board, i64 4), i32 %seen, ptr @sleepers, i32 %first)
  br label %look
done:
  ret void
}

; All chunks by the caller, one after the other.
define internal void @by_one(ptr %code, ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %chunks) nounwind {
entry:
  br label %iteration
iteration:
  %chunk = phi i64 [ 0, %entry ], [ %next, %iteration ]
  call void %code(ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %chunk, i64 %chunks)
  %next = add i64 %chunk, 1
  %more = icmp ult i64 %next, %chunks
  br i1 %more, label %iteration, label %done
done:
  ret void
}

; The same from the last one on: what a chunk sees of one before it, it then sees every time.
define internal void @backwards(ptr %code, ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %chunks) nounwind {
entry:
  br label %iteration
iteration:
  %left = phi i64 [ %chunks, %entry ], [ %chunk, %iteration ]
  %chunk = sub i64 %left, 1
  call void %code(ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %chunk, i64 %chunks)
  %more = icmp ne i64 %chunk, 0
  br i1 %more, label %iteration, label %done
done:
  ret void
}

define internal i1 @is_resting() nounwind {
entry:
  %until = load atomic i64, ptr @rest_until monotonic, align 8
  %never = icmp eq i64 %until, 0
  br i1 %never, label %no, label %compare
compare:
  %now = call i64 @ticks()
  %left = sub i64 %until, %now
  %still = icmp sgt i64 %left, 0
  br i1 %still, label %yes, label %over
over:
  store atomic i64 0, ptr @rest_until monotonic, align 8
  br label %no
yes:
  ret i1 true
no:
  ret i1 false
}

; Waits for the chunks that workers have taken, whose number is not 0; returns how long, in ticks.
define internal i64 @join(i32 %taken) nounwind {
entry:
  %now = load atomic i32, ptr @finished acquire, align 4
  %ready = icmp eq i32 %now, %taken
  br i1 %ready, label %at_once, label %begin
at_once:
  ret i64 0
begin:
  %start = call i64 @ticks()
  br label %wait
wait:
  %seen = phi i32 [ %now, %begin ], [ %later, %wait ]
  call void @await(ptr @finished, i32 %seen, ptr @joiners, i32 0)
  %later = load atomic i32, ptr @finished acquire, align 4
  %all = icmp eq i32 %later, %taken
  br i1 %all, label %end, label %wait
end:
  %stop = call i64 @ticks()
  %ticks = sub i64 %stop, %start
  ret i64 %ticks
}

; Holds what a phase has saved against what was waited for it.
define internal void @weigh(i64 %saved, i64 %waited) nounwind {
entry:
  %before = load i64, ptr @balance
  %most = load i64, ptr @most_balance
  %gain = sub i64 %saved, %waited
  %sum = add i64 %before, %gain
  %much = icmp sgt i64 %sum, %most
  %balance = select i1 %much, i64 %most, i64 %sum
  store i64 %balance, ptr @balance
  %lost = icmp slt i64 %balance, 0
  br i1 %lost, label %rest, label %done
rest:
  %factor = mul i64 %balance, -$rest_factor
  %longest = call i64 @in_ticks(i64 $longest_rest)
  %long = icmp sgt i64 %factor, %longest
  %ticks = select i1 %long, i64 %longest, i64 %factor
  %now = call i64 @ticks()
  %until = add i64 %now, %ticks
  store atomic i64 %until, ptr @rest_until monotonic, align 8
  store i64 %most, ptr @balance
  br label %done
done:
  ret void
}

; Whether threads were held up in a phase that may be cut finely, which is remembered.
define internal i1 @notice(i64 %spent, i64 %waited) nounwind {
entry:
  %scaled = mul i64 %waited, $wait_share
  %long = icmp sgt i64 %scaled, %spent
  %before = load i64, ptr @held_up
  %fewer = call i64 @llvm.usub.sat.i64(i64 %before, i64 1)
  %now = select i1 %long, i64 $careful, i64 %fewer
  store i64 %now, ptr @held_up
  ret i1 %long
}

; Runs a phase of the program that has the team, expected to take `work` ns on one thread, in `few` chunks or, where
; threads are held up, in `most`.
define internal void @share(ptr %code, ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %few, i64 %most,
                            i64 %work) nounwind {
entry:
  %eager = load i32, ptr @eager
  %in_reverse = icmp eq i32 %eager, 2
  br i1 %in_reverse, label %from_the_last, label %begin
from_the_last:
  call void @backwards(ptr %code, ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %most)
  ret void
begin:
  %waits = icmp ne i32 %eager, 0
  %held_up = load i64, ptr @held_up
  %uneven = icmp ne i64 %held_up, 0
  %finely = or i1 %uneven, %waits
  %chunks = select i1 %finely, i64 %most, i64 %few
  br i1 %waits, label %post, label %ask
ask:
  %resting = call i1 @is_resting()
  br i1 %resting, label %alone, label %post
alone:
  call void @by_one(ptr %code, ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %few)
  ret void
post:
  %start = call i64 @ticks()
  store atomic ptr %code, ptr getelementptr (%board, ptr @board, i64 0, i32 1) monotonic, align 8
  store atomic ptr %context, ptr getelementptr (%board, ptr @board, i64 0, i32 2) monotonic, align 8
  store atomic i64 %chunks, ptr getelementptr (%board, ptr @board, i64 0, i32 3) monotonic, align 8
  store atomic ptr %parameters, ptr getelementptr (%board, ptr @board, i64 0, i32 4) monotonic, align 8
  store atomic ptr %results, ptr getelementptr (%board, ptr @board, i64 0, i32 5) monotonic, align 8
  store atomic ptr %arena, ptr getelementptr (%board, ptr @board, i64 0, i32 6) monotonic, align 8
  store atomic i32 0, ptr @finished monotonic, align 4
  %before = load atomic i64, ptr @board monotonic, align 8
  %count = lshr i64 %before, 32
  %next_count = add i64 %count, 1
  %phases = and i64 %next_count, 4294967295
  %high = shl i64 %phases, 32
  %posted = or i64 %high, 1
  %was = atomicrmw xchg ptr @board, i64 %posted seq_cst
  call void @attract(i64 %chunks, i64 %work)
  br label %iteration
iteration:
  %chunk = phi i64 [ 0, %post ], [ %following, %take_more ]
  %done_here = phi i64 [ 0, %post ], [ %more_here, %take_more ]
  call void %code(ptr %parameters, ptr %results, ptr %arena, ptr %context, i64 %chunk, i64 %chunks)
  %more_here = add i64 %done_here, 1
  br i1 %waits, label %look, label %take_more
take_more:
  %following = call i64 @take(i64 %phases, i64 %chunks)
  %another = icmp sge i64 %following, 0
  br i1 %another, label %iteration, label %look
look:
  %elsewhere = sub i64 %chunks, %more_here
  %nowhere = icmp eq i64 %elsewhere, 0
  br i1 %nowhere, label %done, label %together
together:
  ; What workers do would have taken the caller as long for each chunk as its own have.
  %end = call i64 @ticks()
  %spent = sub i64 %end, %start
  %each = udiv i64 %spent, %more_here
  %saved = mul i64 %each, %elsewhere
  %taken = trunc i64 %elsewhere to i32
  %waited = call i64 @join(i32 %taken)
  br i1 %waits, label %done, label %settle
settle:
  %may_be_finer = icmp ugt i64 %most, %few
  br i1 %may_be_finer, label %learn, label %balance
learn:
  ; Before a team rests for it, the next phase is cut finely.
  %long = call i1 @notice(i64 %spent, i64 %waited)
  %coarsely = icmp eq i64 %chunks, %few
  %first = and i1 %long, %coarsely
  ; One that lasts for slices is not lost by one: a second thread is a second share of the machine's time.
  %slices = call i64 @in_ticks(i64 $lasting)
  %lasts = icmp sgt i64 %spent, %slices
  %forgiven = or i1 %first, %lasts
  br i1 %forgiven, label %done, label %balance
balance:
  call void @weigh(i64 %saved, i64 %waited)
  br label %done
done:
  ret void
}

; Whether workers are awake, or to be woken, for a program whose phases are expected to take `work` ns in all.
define internal i1 @is_worth_it(i64 %work) nounwind {
entry:
  %now = call i64 @ticks()
  %last = load i64, ptr @last
  %gap = sub i64 %now, %last
  %window = call i64 @in_ticks(i64 $window)
  %recent = icmp slt i64 %gap, %window
  %kept = load i64, ptr @credit
  %before = select i1 %recent, i64 %kept, i64 0
  %workers = load i64, ptr @workers
  %sleeping = load atomic i32, ptr @sleepers seq_cst, align 4
  %asleep = zext i32 %sleeping to i64
  %awake = icmp ult i64 %asleep, %workers
  br i1 %awake, label %yes, label %weigh
weigh:
  %credit = add i64 %before, %work
  store i64 %credit, ptr @credit
  %pays = icmp uge i64 %credit, $waking_pays
  br i1 %pays, label %yes, label %no
yes:
  ret i1 true
no:
  ret i1 false
}

define void @run(ptr %program, ptr %parameters, ptr %results, ptr %arena, i64 %threads, i64 %work) nounwind {
entry:
  %workers = load atomic i64, ptr @workers monotonic, align 8
  %no_others = icmp eq i64 %workers, 0
  %eager = load i32, ptr @eager
  %in_reverse = icmp eq i32 %eager, 2
  %lacks_others = select i1 %in_reverse, i1 false, i1 %no_others
  %single = icmp ule i64 %threads, 1
  %plain = or i1 %lacks_others, %single
  br i1 %plain, label %alone, label %rested
rested:
  %always = icmp ne i32 %eager, 0
  br i1 %always, label %try, label %ask
ask:
  %resting = call i1 @is_resting()
  br i1 %resting, label %alone, label %try
try:
  %exchange = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %mine, label %decide, label %alone
alone:
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr null)
  ret void
decide:
  %worth = call i1 @is_worth_it(i64 %work)
  %joins = or i1 %worth, %always
  br i1 %joins, label %together, label %finish
together:
  %home = call i32 @sched_getcpu()
  store atomic i32 %home, ptr @home monotonic, align 4
  br label %finish
finish:
  %team = phi ptr [ null, %decide ], [ @team, %together ]
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr %team)
  %now = call i64 @ticks()
  store i64 %now, ptr @last
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

; Ends the workers and keeps the team busy for good; leaves a team alone that is at work.
define i32 @stop() nounwind {
entry:
  %exchange = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %mine, label %close, label %leave
close:
  store atomic i32 1, ptr @stopping seq_cst, align 4
  %old = atomicrmw add ptr @board, i64 4294967296 seq_cst
  call void @wake(ptr getelementptr (i8, ptr @board, i64 4), i32 2147483647)
  ret i32 1
leave:
  ret i32 0
}

; For the child of a fork, which has one thread and a copy of whatever state the parent was in.
define void @reset() nounwind {
  call void @llvm.memset.p0.i64(ptr @board, i8 0, i64 128, i1 false)
  store i32 0, ptr @sleepers
  store i32 0, ptr @finished
  store i32 0, ptr @joiners
  store i32 0, ptr @busy
  store i32 0, ptr @stopping
  store i64 0, ptr @capacity
  store i64 0, ptr @workers
  store i64 0, ptr @rest_until
  store i64 0, ptr @credit
  store i64 0, ptr @balance
  store i64 0, ptr @held_up
  ret void
}

define void @relax(i64 %iterations) nounwind {
entry:
  br label %iteration
iteration:
  %left = phi i64 [ %iterations, %entry ], [ %fewer, %iteration ]
  $pause
  %fewer = sub i64 %left, 1
  %done = icmp eq i64 %fewer, 0
  br i1 %done, label %end, label %iteration
end:
  ret void
}
