; The workers' loop, fork and join, and the barrier between a program's steps.
;
; A wait spins for about 30 us, in which most steps end (a hand-over by spinning takes 0.2 us, a futex wake-up 40 to
; 110), then sleeps on a futex, so that an idle pool costs nothing and an oversubscribed machine makes progress.  It does
; not yield in between: beside a busy process every yield costs a time slice, while a sleeper is run soon after it is
; woken.
;
; One wait serves all three meetings (job posted, barrier passed, job done): a word to watch, and beside it the number
; of sleepers, so that whoever changes the word makes a system call only where somebody sleeps.  Both are sequentially
; consistent: either the waker sees the sleeper, or the sleeper's futex call sees the changed word.
;
; Words that different threads write lie at least a cache line apart.

%line = type { i32, [60 x i8] }
%slot = type { %line, %line }                 ; a worker's mailbox: jobs posted, sleepers
%sync = type { ptr, [56 x i8], %line, %line, %line }  ; barrier: its code, arrived, generation, sleepers
%job = type { ptr, ptr, ptr, ptr, i64 }       ; program, parameters, results, arena, threads

@slots = internal global [$most x %slot] zeroinitializer, align 64
@sync = internal global %sync { ptr @barrier, [56 x i8] zeroinitializer, %line zeroinitializer,
                                %line zeroinitializer, %line zeroinitializer }, align 64
@home = internal global i32 -1                ; the core that the caller of the job runs on
@job = internal global %job zeroinitializer, align 64
@pending = internal global %line zeroinitializer, align 64
@joiners = internal global %line zeroinitializer, align 64
@busy = internal global %line zeroinitializer, align 64
@workers = global i64 0, align 64
@cores = global i64 1
@patience = global i32 $oversubscribed         ; turns of a spinning wait while every thread has a core
@spins = internal global i32 $oversubscribed   ; the same for the job at hand

declare i64 @syscall(i64, ...)
declare i32 @sched_getcpu()
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
$declare_pause

; Returns when the word is no longer the old one; `first` is the turn to begin with: 0, or -1 for straight to sleep.
define internal void @await(ptr %word, i32 %old, ptr %sleepers, i32 %first) nounwind {
entry:
  %limit = load atomic i32, ptr @spins monotonic, align 4
  br label %look
look:
  %turn = phi i32 [ %first, %entry ], [ %next, %relax ], [ %turn, %sleep ]
  %now = load atomic i32, ptr %word acquire, align 4
  %changed = icmp ne i32 %now, %old
  br i1 %changed, label %done, label %idle
idle:
  %next = add i32 %turn, 1
  %spin = icmp ult i32 %turn, %limit
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

define internal void @notify(ptr %word, ptr %sleepers) nounwind {
  %count = load atomic i32, ptr %sleepers seq_cst, align 4
  %none = icmp eq i32 %count, 0
  br i1 %none, label %done, label %wake
wake:
  %woken = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 129, i32 2147483647)
  br label %done
done:
  ret void
}

define internal void @barrier(ptr %sync, i64 %threads) nounwind {
  %arrived = getelementptr %sync, ptr %sync, i64 0, i32 2
  %generation = getelementptr %sync, ptr %sync, i64 0, i32 3
  %sleepers = getelementptr %sync, ptr %sync, i64 0, i32 4
  %now = load atomic i32, ptr %generation monotonic, align 4
  %before = atomicrmw add ptr %arrived, i32 1 acq_rel
  %total = trunc i64 %threads to i32
  %here = add i32 %before, 1
  %last = icmp eq i32 %here, %total
  br i1 %last, label %open, label %wait
open:
  store atomic i32 0, ptr %arrived monotonic, align 4
  %old = atomicrmw add ptr %generation, i32 1 seq_cst
  call void @notify(ptr %generation, ptr %sleepers)
  ret void
wait:
  call void @await(ptr %generation, i32 %now, ptr %sleepers, i32 0)
  ret void
}

define internal void @post(i64 %worker) nounwind {
  %slot = getelementptr [$most x %slot], ptr @slots, i64 0, i64 %worker
  %sleepers = getelementptr %slot, ptr %slot, i64 0, i32 1
  %old = atomicrmw add ptr %slot, i32 1 seq_cst
  call void @notify(ptr %slot, ptr %sleepers)
  ret void
}

define void @worker(i64 %thread) nounwind {
entry:
  %slot = getelementptr [$most x %slot], ptr @slots, i64 0, i64 %thread
  %sleepers = getelementptr %slot, ptr %slot, i64 0, i32 1
  br label %wait
wait:
  %seen = phi i32 [ 0, %entry ], [ %posted, %go ]
  %first = phi i32 [ 0, %entry ], [ %next_first, %go ]
  call void @await(ptr %slot, i32 %seen, ptr %sleepers, i32 %first)
  %posted = load atomic i32, ptr %slot acquire, align 4
  %program = load ptr, ptr @job
  %stop = icmp eq ptr %program, null
  br i1 %stop, label %done, label %go
go:
  %parameters = load ptr, ptr getelementptr (%job, ptr @job, i64 0, i32 1)
  %results = load ptr, ptr getelementptr (%job, ptr @job, i64 0, i32 2)
  %arena = load ptr, ptr getelementptr (%job, ptr @job, i64 0, i32 3)
  %threads = load i64, ptr getelementptr (%job, ptr @job, i64 0, i32 4)
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr @sync, i64 %thread, i64 %threads)
  %home = load atomic i32, ptr @home monotonic, align 4
  %left = atomicrmw sub ptr @pending, i32 1 seq_cst
  call void @notify(ptr @pending, ptr @joiners)
  ; Spinning on the caller's own core only keeps the caller off it, and the scheduler moves sleepers, not spinners.
  %here = call i32 @sched_getcpu()
  %shared = icmp eq i32 %here, %home
  %next_first = sext i1 %shared to i32
  br label %wait
done:
  ret void
}

define void @run(ptr %program, ptr %parameters, ptr %results, ptr %arena, i64 %wanted) nounwind {
entry:
  %workers = load atomic i64, ptr @workers monotonic, align 8
  %most = add i64 %workers, 1
  %fewer = icmp ult i64 %most, %wanted
  %threads = select i1 %fewer, i64 %most, i64 %wanted
  %single = icmp ule i64 %threads, 1
  br i1 %single, label %alone, label %try
try:
  %exchange = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %mine, label %fork, label %alone
alone:
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr null, i64 0, i64 1)
  ret void
fork:
  store ptr %program, ptr @job
  store ptr %parameters, ptr getelementptr (%job, ptr @job, i64 0, i32 1)
  store ptr %results, ptr getelementptr (%job, ptr @job, i64 0, i32 2)
  store ptr %arena, ptr getelementptr (%job, ptr @job, i64 0, i32 3)
  store i64 %threads, ptr getelementptr (%job, ptr @job, i64 0, i32 4)
  %cores = load i64, ptr @cores
  %patience = load i32, ptr @patience
  %roomy = icmp ule i64 %threads, %cores
  %spins = select i1 %roomy, i32 %patience, i32 $oversubscribed
  store atomic i32 %spins, ptr @spins monotonic, align 4
  %home = call i32 @sched_getcpu()
  store atomic i32 %home, ptr @home monotonic, align 4
  %others = sub i64 %threads, 1
  %others32 = trunc i64 %others to i32
  store atomic i32 %others32, ptr @pending monotonic, align 4
  br label %posting
posting:
  %worker = phi i64 [ 1, %fork ], [ %following, %posting ]
  call void @post(i64 %worker)
  %following = add i64 %worker, 1
  %all = icmp eq i64 %following, %threads
  br i1 %all, label %take_part, label %posting
take_part:
  call void %program(ptr %parameters, ptr %results, ptr %arena, ptr @sync, i64 0, i64 %threads)
  br label %join
join:
  %left = load atomic i32, ptr @pending acquire, align 4
  %joined = icmp eq i32 %left, 0
  br i1 %joined, label %done, label %wait
wait:
  call void @await(ptr @pending, i32 %left, ptr @joiners, i32 0)
  br label %join
done:
  store atomic i32 0, ptr @busy release, align 4
  ret void
}

; Ends the workers and keeps the pool busy for good; leaves a pool alone that is at work.
define i32 @stop(i64 %workers) nounwind {
entry:
  %exchange = cmpxchg ptr @busy, i32 0, i32 1 acquire monotonic
  %mine = extractvalue { i32, i1 } %exchange, 1
  br i1 %mine, label %close, label %leave
close:
  store ptr null, ptr @job
  br label %posting
posting:
  %worker = phi i64 [ 1, %close ], [ %following, %next ]
  %all = icmp ugt i64 %worker, %workers
  br i1 %all, label %done, label %next
next:
  call void @post(i64 %worker)
  %following = add i64 %worker, 1
  br label %posting
done:
  ret i32 1
leave:
  ret i32 0
}

; For the child of a fork, which has one thread and a copy of whatever state the parent was in.
define void @reset() nounwind {
  call void @llvm.memset.p0.i64(ptr @slots, i8 0, i64 $slot_bytes, i1 false)
  call void @llvm.memset.p0.i64(ptr getelementptr (%sync, ptr @sync, i64 0, i32 2), i8 0, i64 192, i1 false)
  store i32 0, ptr @pending
  store i32 0, ptr @joiners
  store i32 0, ptr @busy
  store i64 0, ptr @workers
  ret void
}

define void @relax(i64 %turns) nounwind {
entry:
  br label %turn
turn:
  %left = phi i64 [ %turns, %entry ], [ %fewer, %turn ]
  $pause
  %fewer = sub i64 %left, 1
  %done = icmp eq i64 %fewer, 0
  br i1 %done, label %end, label %turn
end:
  ret void
}
