; The functions of the runtime table (see `emit/runtime.rs`) for kernels that are shipped: what an object calls where its
; caller passes no table. They need the C library and POSIX threads, and know nothing of the processor. Only those that the
; object's kernels use are left in it. `lac.functions` and the `lac.shift` of each integer type are added by `ship.rs`.

%lac.header = type { ptr, i64 }
; What the threads of a loop share: body, context, first iteration, how many there are, how many are taken, status.
%lac.job = type { ptr, ptr, i64, i64, i64, i32 }

declare ptr @malloc(i64)
declare ptr @calloc(i64, i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)
declare void @qsort(ptr, i64, i64, ptr)
declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_join(i64, ptr)
declare i64 @sysconf(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)

; By element type, in the order of `DType::ALL`: the bytes of an element.
@lac.sizes = internal constant [16 x i64] [i64 1, i64 1, i64 2, i64 4, i64 8, i64 1, i64 2, i64 4, i64 8, i64 2, i64 2, i64 4, i64 8, i64 8, i64 16, i64 0]

; The table of a call: the caller's, or else `own`, which is filled: the functions, how many threads may share a loop (0: as
; many as there are processors), and whether they do.
define ptr @lac.table(ptr %given, ptr %own, i64 %threads) noinline {
  %none = icmp eq ptr %given, null
  br i1 %none, label %fill, label %done
fill:
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr @lac.functions, i64 72, i1 false)
  %threads.at = getelementptr i64, ptr %own, i64 9
  store i64 %threads, ptr %threads.at
  %busy.at = getelementptr i64, ptr %own, i64 10
  store i64 0, ptr %busy.at
  br label %done
done:
  %table = phi ptr [ %given, %0 ], [ %own, %fill ]
  ret ptr %table
}

define internal ptr @lac.allocate(i64 %bytes, i32 %zeroed) {
  %any = icmp eq i32 %zeroed, 0
  br i1 %any, label %plain, label %zero
plain:
  %block = call ptr @malloc(i64 %bytes)
  ret ptr %block
zero:
  %zeros = call ptr @calloc(i64 %bytes, i64 1)
  ret ptr %zeros
}

define internal ptr @lac.reallocate(ptr %old, i64 %kept, i64 %bytes, i64 %zero_from) {
  %block = call ptr @realloc(ptr %old, i64 %bytes)
  %refused = icmp eq ptr %block, null
  %nothing = icmp uge i64 %zero_from, %bytes
  %done = or i1 %refused, %nothing
  br i1 %done, label %end, label %clear
clear:
  %from = getelementptr i8, ptr %block, i64 %zero_from
  %rest = sub i64 %bytes, %zero_from
  call void @llvm.memset.p0.i64(ptr %from, i8 0, i64 %rest, i1 false)
  br label %end
end:
  ret ptr %block
}

; Whole blocks of 16 bytes, into which every pattern fits, then what is left.
define internal void @lac.fill(ptr %to, i64 %count, ptr %pattern, i64 %size) {
entry:
  %block = alloca [16 x i8], align 16
  %bytes = mul i64 %count, %size
  %whole = and i64 %bytes, -16
  br label %repeat
repeat:
  %at = phi i64 [ 0, %entry ], [ %at.next, %repeat ]
  %slot = getelementptr i8, ptr %block, i64 %at
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %pattern, i64 %size, i1 false)
  %at.next = add i64 %at, %size
  %repeated = icmp uge i64 %at.next, 16
  br i1 %repeated, label %copy, label %repeat
copy:
  %value = load <16 x i8>, ptr %block, align 16
  %none = icmp eq i64 %whole, 0
  br i1 %none, label %tail, label %loop
loop:
  %done = phi i64 [ 0, %copy ], [ %done.next, %loop ]
  %place = getelementptr i8, ptr %to, i64 %done
  store <16 x i8> %value, ptr %place, align 1
  %done.next = add i64 %done, 16
  %more = icmp ult i64 %done.next, %whole
  br i1 %more, label %loop, label %tail
tail:
  %end = getelementptr i8, ptr %to, i64 %whole
  %left = sub i64 %bytes, %whole
  call void @llvm.memcpy.p0.p0.i64(ptr %end, ptr %block, i64 %left, i1 false)
  ret void
}

define internal i32 @lac.compare(ptr %a, ptr %b) {
  %x = load i64, ptr %a
  %y = load i64, ptr %b
  %above = icmp sgt i64 %x, %y
  %below = icmp slt i64 %x, %y
  %plus = zext i1 %above to i32
  %minus = zext i1 %below to i32
  %sign = sub i32 %plus, %minus
  ret i32 %sign
}

; Reads the marks off where they are not many more than the list has entries, else sorts it.
define internal void @lac.sort_marked(ptr %list, i64 %n, ptr %marks, i64 %size) {
entry:
  %few = sdiv i64 %size, 32
  %many = icmp sgt i64 %n, %few
  br i1 %many, label %scan, label %sort
sort:
  call void @qsort(ptr %list, i64 %n, i64 8, ptr @lac.compare)
  ret void
scan:
  %k = phi i64 [ 0, %entry ], [ %k.next, %look ]
  %found = phi i64 [ 0, %entry ], [ %found.next, %look ]
  %in = icmp slt i64 %k, %size
  %wanted = icmp slt i64 %found, %n
  %more = and i1 %in, %wanted
  br i1 %more, label %look, label %end
look:
  ; Written in any case; it counts if the coordinate is marked.
  %slot = getelementptr i64, ptr %list, i64 %found
  store i64 %k, ptr %slot
  %mark.at = getelementptr i8, ptr %marks, i64 %k
  %mark = load i8, ptr %mark.at
  %adds = zext i8 %mark to i64
  %found.next = add i64 %found, %adds
  %k.next = add i64 %k, 1
  br label %scan
end:
  ret void
}

; The sign of the comparison of entries a and b by their keys.
define internal i32 @lac.compare_keys(ptr %keys, i64 %nkeys, i64 %a, i64 %b) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %equal ]
  %more = icmp ult i64 %k, %nkeys
  br i1 %more, label %look, label %same
look:
  %key.at = getelementptr ptr, ptr %keys, i64 %k
  %key = load ptr, ptr %key.at
  %x.at = getelementptr i64, ptr %key, i64 %a
  %y.at = getelementptr i64, ptr %key, i64 %b
  %sign = call i32 @lac.compare(ptr %x.at, ptr %y.at)
  %k.next = add i64 %k, 1
  %differ = icmp ne i32 %sign, 0
  br i1 %differ, label %decided, label %equal
equal:
  br label %loop
decided:
  ret i32 %sign
same:
  ret i32 0
}

; The entries 0 .. n in the order of their keys, equal ones as they were: merges runs of doubling length. The result is in one
; of the two arrays given.
define internal ptr @lac.sort_order(ptr %keys, i64 %nkeys, i64 %n, ptr %first, ptr %second) {
entry:
  br label %number
number:
  %e = phi i64 [ 0, %entry ], [ %e.next, %number.one ]
  %unnumbered = icmp slt i64 %e, %n
  br i1 %unnumbered, label %number.one, label %pass
number.one:
  %e.at = getelementptr i64, ptr %first, i64 %e
  store i64 %e, ptr %e.at
  %e.next = add i64 %e, 1
  br label %number
pass:
  %width = phi i64 [ 1, %number ], [ %double, %pass.end ]
  %order = phi ptr [ %first, %number ], [ %spare, %pass.end ]
  %spare = phi ptr [ %second, %number ], [ %order, %pass.end ]
  %double = mul i64 %width, 2
  %unsorted = icmp slt i64 %width, %n
  br i1 %unsorted, label %runs, label %sorted
runs:
  %low = phi i64 [ 0, %pass ], [ %high, %merge ]
  %left = icmp slt i64 %low, %n
  br i1 %left, label %run, label %pass.end
run:
  %rest = sub i64 %n, %low
  %half = call i64 @llvm.umin.i64(i64 %rest, i64 %width)
  %whole = call i64 @llvm.umin.i64(i64 %rest, i64 %double)
  %middle = add i64 %low, %half
  %high = add i64 %low, %whole
  br label %merge
merge:
  %to = phi i64 [ %low, %run ], [ %to.next, %take ]
  %a = phi i64 [ %low, %run ], [ %a.next, %take ]
  %b = phi i64 [ %middle, %run ], [ %b.next, %take ]
  %unmerged = icmp slt i64 %to, %high
  br i1 %unmerged, label %choose, label %runs
choose:
  %a.in = icmp slt i64 %a, %middle
  %b.in = icmp slt i64 %b, %high
  %both = and i1 %a.in, %b.in
  br i1 %both, label %compare, label %take
compare:
  %a.at = getelementptr i64, ptr %order, i64 %a
  %a.entry = load i64, ptr %a.at
  %b.at = getelementptr i64, ptr %order, i64 %b
  %b.entry = load i64, ptr %b.at
  %sign = call i32 @lac.compare_keys(ptr %keys, i64 %nkeys, i64 %a.entry, i64 %b.entry)
  %a.first = icmp sle i32 %sign, 0
  br label %take
take:
  %from.a = phi i1 [ %a.in, %choose ], [ %a.first, %compare ]
  %from = select i1 %from.a, i64 %a, i64 %b
  %from.at = getelementptr i64, ptr %order, i64 %from
  %entry.taken = load i64, ptr %from.at
  %to.at = getelementptr i64, ptr %spare, i64 %to
  store i64 %entry.taken, ptr %to.at
  %a.adds = zext i1 %from.a to i64
  %a.next = add i64 %a, %a.adds
  %b.adds = xor i64 %a.adds, 1
  %b.next = add i64 %b, %b.adds
  %to.next = add i64 %to, 1
  br label %merge
pass.end:
  br label %pass
sorted:
  ret ptr %order
}

; Adds an element to another one.
define internal void @lac.add(ptr %to, ptr %from, i32 %dtype) {
  switch i32 %dtype, label %bool [
    i32 1, label %i8
    i32 2, label %i16
    i32 3, label %i32
    i32 4, label %i64
    i32 5, label %i8
    i32 6, label %i16
    i32 7, label %i32
    i32 8, label %i64
    i32 11, label %f32
    i32 12, label %f64
    i32 13, label %c64
    i32 14, label %c128
  ]
bool:
  %bool.a = load i8, ptr %to
  %bool.b = load i8, ptr %from
  %bool.sum = or i8 %bool.a, %bool.b
  store i8 %bool.sum, ptr %to
  ret void
i8:
  %i8.a = load i8, ptr %to
  %i8.b = load i8, ptr %from
  %i8.sum = add i8 %i8.a, %i8.b
  store i8 %i8.sum, ptr %to
  ret void
i16:
  %i16.a = load i16, ptr %to
  %i16.b = load i16, ptr %from
  %i16.sum = add i16 %i16.a, %i16.b
  store i16 %i16.sum, ptr %to
  ret void
i32:
  %i32.a = load i32, ptr %to
  %i32.b = load i32, ptr %from
  %i32.sum = add i32 %i32.a, %i32.b
  store i32 %i32.sum, ptr %to
  ret void
i64:
  %i64.a = load i64, ptr %to
  %i64.b = load i64, ptr %from
  %i64.sum = add i64 %i64.a, %i64.b
  store i64 %i64.sum, ptr %to
  ret void
f32:
  %f32.a = load float, ptr %to
  %f32.b = load float, ptr %from
  %f32.sum = fadd float %f32.a, %f32.b
  store float %f32.sum, ptr %to
  ret void
f64:
  %f64.a = load double, ptr %to
  %f64.b = load double, ptr %from
  %f64.sum = fadd double %f64.a, %f64.b
  store double %f64.sum, ptr %to
  ret void
c64:
  %c64.a = load <2 x float>, ptr %to, align 4
  %c64.b = load <2 x float>, ptr %from, align 4
  %c64.sum = fadd <2 x float> %c64.a, %c64.b
  store <2 x float> %c64.sum, ptr %to, align 4
  ret void
c128:
  %c128.a = load <2 x double>, ptr %to, align 8
  %c128.b = load <2 x double>, ptr %from, align 8
  %c128.sum = fadd <2 x double> %c128.a, %c128.b
  store <2 x double> %c128.sum, ptr %to, align 8
  ret void
}

define internal i64 @lac.sort_combine(ptr %keys, i64 %nkeys, ptr %values, i32 %dtype, i64 %n) {
entry:
  %none = icmp sle i64 %n, 0
  br i1 %none, label %nothing, label %some
nothing:
  ret i64 0
some:
  %huge = icmp ugt i64 %n, 288230376151711743
  br i1 %huge, label %refused, label %allocate
allocate:
  %size.at = getelementptr i64, ptr @lac.sizes, i32 %dtype
  %size = load i64, ptr %size.at
  %bytes = mul i64 %n, 16
  %orders = call ptr @malloc(i64 %bytes)
  %totals = call ptr @malloc(i64 %bytes)
  %no.orders = icmp eq ptr %orders, null
  %no.totals = icmp eq ptr %totals, null
  %missing = or i1 %no.orders, %no.totals
  br i1 %missing, label %release, label %sort
release:
  call void @free(ptr %orders)
  call void @free(ptr %totals)
  br label %refused
refused:
  ret i64 -1
sort:
  %second = getelementptr i64, ptr %orders, i64 %n
  %order = call ptr @lac.sort_order(ptr %keys, i64 %nkeys, i64 %n, ptr %orders, ptr %second)
  %in.first = icmp eq ptr %order, %orders
  ; By the number of an entry that is left: the first of those that it combines.
  %firsts = select i1 %in.first, ptr %second, ptr %orders
  br label %combine
combine:
  %k = phi i64 [ 0, %sort ], [ %k.next, %next ]
  %count = phi i64 [ 0, %sort ], [ %count.next, %next ]
  %previous = phi i64 [ -1, %sort ], [ %current, %next ]
  %more = icmp slt i64 %k, %n
  br i1 %more, label %one, label %store
one:
  %current.at = getelementptr i64, ptr %order, i64 %k
  %current = load i64, ptr %current.at
  %offset = mul i64 %current, %size
  %value = getelementptr i8, ptr %values, i64 %offset
  %begins = icmp eq i64 %k, 0
  br i1 %begins, label %new, label %compare
compare:
  %sign = call i32 @lac.compare_keys(ptr %keys, i64 %nkeys, i64 %previous, i64 %current)
  %same = icmp eq i32 %sign, 0
  br i1 %same, label %old, label %new
old:
  %last = sub i64 %count, 1
  %last.offset = mul i64 %last, %size
  %total = getelementptr i8, ptr %totals, i64 %last.offset
  call void @lac.add(ptr %total, ptr %value, i32 %dtype)
  br label %next
new:
  %new.offset = mul i64 %count, %size
  %slot = getelementptr i8, ptr %totals, i64 %new.offset
  call void @llvm.memcpy.p0.p0.i64(ptr %slot, ptr %value, i64 %size, i1 false)
  %first.at = getelementptr i64, ptr %firsts, i64 %count
  store i64 %current, ptr %first.at
  %counted = add i64 %count, 1
  br label %next
next:
  %count.next = phi i64 [ %count, %old ], [ %counted, %new ]
  %k.next = add i64 %k, 1
  br label %combine
store:
  %stored = mul i64 %count, %size
  call void @llvm.memcpy.p0.p0.i64(ptr %values, ptr %totals, i64 %stored, i1 false)
  br label %columns
columns:
  %c = phi i64 [ 0, %store ], [ %c.next, %column.end ]
  %columns.left = icmp ult i64 %c, %nkeys
  br i1 %columns.left, label %column, label %end
column:
  %key.at = getelementptr ptr, ptr %keys, i64 %c
  %key = load ptr, ptr %key.at
  br label %pick
pick:
  %e = phi i64 [ 0, %column ], [ %e.next, %pick.one ]
  %unpicked = icmp slt i64 %e, %count
  br i1 %unpicked, label %pick.one, label %column.end
pick.one:
  %e.first.at = getelementptr i64, ptr %firsts, i64 %e
  %e.first = load i64, ptr %e.first.at
  %from = getelementptr i64, ptr %key, i64 %e.first
  %coordinate = load i64, ptr %from
  ; The totals are stored already: their memory serves for a column.
  %picked = getelementptr i64, ptr %totals, i64 %e
  store i64 %coordinate, ptr %picked
  %e.next = add i64 %e, 1
  br label %pick
column.end:
  %column.bytes = mul i64 %count, 8
  call void @llvm.memcpy.p0.p0.i64(ptr %key, ptr %totals, i64 %column.bytes, i1 false)
  %c.next = add i64 %c, 1
  br label %columns
end:
  call void @free(ptr %orders)
  call void @free(ptr %totals)
  ret i64 %count
}

; Takes iterations until none are left. The loads need no order: what the iterations write is read after the threads are joined.
define internal ptr @lac.work(ptr %job) {
entry:
  %body = load ptr, ptr %job
  %context.at = getelementptr %lac.job, ptr %job, i32 0, i32 1
  %context = load ptr, ptr %context.at
  %begin.at = getelementptr %lac.job, ptr %job, i32 0, i32 2
  %begin = load i64, ptr %begin.at
  %count.at = getelementptr %lac.job, ptr %job, i32 0, i32 3
  %count = load i64, ptr %count.at
  %taken.at = getelementptr %lac.job, ptr %job, i32 0, i32 4
  %status.at = getelementptr %lac.job, ptr %job, i32 0, i32 5
  br label %loop
loop:
  %k = atomicrmw add ptr %taken.at, i64 1 monotonic
  %more = icmp ult i64 %k, %count
  br i1 %more, label %one, label %end
one:
  %iteration = add i64 %begin, %k
  %status = call i32 %body(ptr %context, i64 %iteration)
  %good = icmp eq i32 %status, 0
  br i1 %good, label %loop, label %failed
failed:
  ; Who comes second keeps the first one's status; nobody takes another iteration.
  %kept = cmpxchg ptr %status.at, i32 0, i32 %status monotonic monotonic
  store atomic i64 %count, ptr %taken.at monotonic, align 8
  br label %loop
end:
  ret ptr null
}

; Starts threads for the loop and joins them. A loop within a loop stays on its thread; where the system has no more threads,
; fewer take part.
define internal i32 @lac.parallel(ptr %body, ptr %context, i64 %begin, i64 %end) {
entry:
  %job = alloca %lac.job, align 8
  %threads = alloca [255 x i64], align 8
  %any = icmp slt i64 %begin, %end
  br i1 %any, label %some, label %nothing
nothing:
  ret i32 0
some:
  %count = sub i64 %end, %begin
  store ptr %body, ptr %job
  %context.at = getelementptr %lac.job, ptr %job, i32 0, i32 1
  store ptr %context, ptr %context.at
  %begin.at = getelementptr %lac.job, ptr %job, i32 0, i32 2
  store i64 %begin, ptr %begin.at
  %count.at = getelementptr %lac.job, ptr %job, i32 0, i32 3
  store i64 %count, ptr %count.at
  %taken.at = getelementptr %lac.job, ptr %job, i32 0, i32 4
  store i64 0, ptr %taken.at
  %status.at = getelementptr %lac.job, ptr %job, i32 0, i32 5
  store i32 0, ptr %status.at
  ; A context begins with the table.
  %table = load ptr, ptr %context
  %wanted.at = getelementptr i64, ptr %table, i64 9
  %wanted = load i64, ptr %wanted.at
  %busy.at = getelementptr i64, ptr %table, i64 10
  %busy = atomicrmw xchg ptr %busy.at, i64 1 monotonic
  %said = icmp sgt i64 %wanted, 0
  br i1 %said, label %known, label %ask
ask:
  %online = call i64 @sysconf(i32 {online})
  br label %known
known:
  %processors = phi i64 [ %wanted, %some ], [ %online, %ask ]
  %some.processors = icmp sgt i64 %processors, 0
  %at.least.one = select i1 %some.processors, i64 %processors, i64 1
  %worth = call i64 @llvm.umin.i64(i64 %at.least.one, i64 %count)
  %limited = call i64 @llvm.umin.i64(i64 %worth, i64 256)
  %free = icmp eq i64 %busy, 0
  %all = sub i64 %limited, 1
  %helpers = select i1 %free, i64 %all, i64 0
  br label %start
start:
  %started = phi i64 [ 0, %known ], [ %started.next, %start.one ]
  %unstarted = icmp ult i64 %started, %helpers
  br i1 %unstarted, label %start.one, label %work
start.one:
  %thread = getelementptr i64, ptr %threads, i64 %started
  %refused = call i32 @pthread_create(ptr %thread, ptr null, ptr @lac.work, ptr %job)
  %started.next = add i64 %started, 1
  %runs = icmp eq i32 %refused, 0
  br i1 %runs, label %start, label %work
work:
  %running = phi i64 [ %started, %start ], [ %started, %start.one ]
  %own = call ptr @lac.work(ptr %job)
  br label %join
join:
  %joined = phi i64 [ 0, %work ], [ %joined.next, %join.one ]
  %unjoined = icmp ult i64 %joined, %running
  br i1 %unjoined, label %join.one, label %done
join.one:
  %ended = getelementptr i64, ptr %threads, i64 %joined
  %id = load i64, ptr %ended
  %ignored = call i32 @pthread_join(i64 %id, ptr null)
  %joined.next = add i64 %joined, 1
  br label %join
done:
  br i1 %free, label %leave, label %give
leave:
  store atomic i64 0, ptr %busy.at monotonic, align 8
  br label %give
give:
  %status = load atomic i32, ptr %status.at monotonic, align 4
  ret i32 %status
}

define internal void @lac.release_parts(ptr %list, i64 %len) {
entry:
  %none = icmp eq ptr %list, null
  br i1 %none, label %end, label %loop
loop:
  %c = phi i64 [ 0, %entry ], [ %c.next, %one ]
  %more = icmp ult i64 %c, %len
  br i1 %more, label %one, label %own
one:
  %part = getelementptr %lac.header, ptr %list, i64 %c
  %memory = load ptr, ptr %part
  call void @free(ptr %memory)
  %c.next = add i64 %c, 1
  br label %loop
own:
  call void @free(ptr %list)
  br label %end
end:
  ret void
}

define internal i64 @lac.collect(ptr %array, i64 %at, ptr %list, ptr %bias, i32 %dtype) {
entry:
  %size.at = getelementptr i64, ptr @lac.sizes, i32 %dtype
  %size = load i64, ptr %size.at
  %parts = load ptr, ptr %list
  %len.at = getelementptr %lac.header, ptr %list, i32 0, i32 1
  %listed = load i64, ptr %len.at
  %no.parts = icmp eq ptr %parts, null
  %len = select i1 %no.parts, i64 0, i64 %listed
  br label %count
count:
  %c = phi i64 [ 0, %entry ], [ %c.next, %count.one ]
  %end = phi i64 [ %at, %entry ], [ %end.next, %count.one ]
  %uncounted = icmp ult i64 %c, %len
  br i1 %uncounted, label %count.one, label %room
count.one:
  ; The parts are in memory, so their lengths have a sum.
  %counted.at = getelementptr %lac.header, ptr %parts, i64 %c, i32 1
  %counted = load i64, ptr %counted.at
  %end.next = add i64 %end, %counted
  %c.next = add i64 %c, 1
  br label %count
room:
  %most = udiv i64 9223372036854775807, %size
  %huge = icmp ugt i64 %end, %most
  br i1 %huge, label %overflow, label %fits
overflow:
  ret i64 -2
fits:
  %capacity.at = getelementptr %lac.header, ptr %array, i32 0, i32 1
  %capacity = load i64, ptr %capacity.at
  %small = icmp ult i64 %capacity, %end
  br i1 %small, label %grow, label %join
grow:
  %old = load ptr, ptr %array
  %bytes = mul i64 %end, %size
  %grown = call ptr @realloc(ptr %old, i64 %bytes)
  %refused = icmp eq ptr %grown, null
  br i1 %refused, label %no.memory, label %replace
no.memory:
  ret i64 -1
replace:
  store ptr %grown, ptr %array
  store i64 %end, ptr %capacity.at
  br label %join
join:
  %data = load ptr, ptr %array
  %unbiased = icmp eq ptr %bias, null
  br i1 %unbiased, label %move, label %biased
biased:
  %bias.data = load ptr, ptr %bias
  %bias.len.at = getelementptr %lac.header, ptr %bias, i32 0, i32 1
  %bias.listed = load i64, ptr %bias.len.at
  %bias.none = icmp eq ptr %bias.data, null
  %bias.some = select i1 %bias.none, i64 0, i64 %bias.listed
  br label %move
move:
  %others = phi ptr [ null, %join ], [ %bias.data, %biased ]
  %others.len = phi i64 [ 0, %join ], [ %bias.some, %biased ]
  br label %loop
loop:
  %p = phi i64 [ 0, %move ], [ %p.next, %next ]
  %to = phi i64 [ %at, %move ], [ %to.next, %next ]
  %offset = phi i64 [ 0, %move ], [ %offset.next, %next ]
  %more = icmp ult i64 %p, %len
  br i1 %more, label %one, label %done
one:
  %part = getelementptr %lac.header, ptr %parts, i64 %p
  %from = load ptr, ptr %part
  %n.at = getelementptr %lac.header, ptr %part, i32 0, i32 1
  %n = load i64, ptr %n.at
  %place = mul i64 %to, %size
  %target = getelementptr i8, ptr %data, i64 %place
  %as.is = icmp eq i64 %offset, 0
  br i1 %as.is, label %copy, label %shift
copy:
  %n.bytes = mul i64 %n, %size
  call void @llvm.memcpy.p0.p0.i64(ptr %target, ptr %from, i64 %n.bytes, i1 false)
  br label %moved
shift:
  %good = call i1 @lac.shift(ptr %target, ptr %from, i64 %n, i64 %offset, i32 %dtype)
  br i1 %good, label %moved, label %overflow
moved:
  call void @free(ptr %from)
  store ptr null, ptr %part
  store i64 0, ptr %n.at
  %has.other = icmp ult i64 %p, %others.len
  br i1 %has.other, label %other, label %next
other:
  %other.at = getelementptr %lac.header, ptr %others, i64 %p, i32 1
  %other.len = load i64, ptr %other.at
  br label %next
next:
  %adds = phi i64 [ 0, %moved ], [ %other.len, %other ]
  %offset.next = add i64 %offset, %adds
  %to.next = add i64 %to, %n
  %p.next = add i64 %p, 1
  br label %loop
done:
  ret i64 %end
}

; Adds an offset to integers: whether all sums fit.
define internal i1 @lac.shift(ptr %to, ptr %from, i64 %n, i64 %offset, i32 %dtype) {
entry:
  switch i32 %dtype, label %none [
    i32 1, label %i8
    i32 2, label %i16
    i32 3, label %i32
    i32 4, label %i64
    i32 5, label %u8
    i32 6, label %u16
    i32 7, label %u32
    i32 8, label %u64
  ]
none:
  ret i1 false
i8:
  %i8.good = call i1 @lac.shift.i8(ptr %to, ptr %from, i64 %n, i64 %offset)
  ret i1 %i8.good
i16:
  %i16.good = call i1 @lac.shift.i16(ptr %to, ptr %from, i64 %n, i64 %offset)
  ret i1 %i16.good
i32:
  %i32.good = call i1 @lac.shift.i32(ptr %to, ptr %from, i64 %n, i64 %offset)
  ret i1 %i32.good
i64:
  %i64.good = call i1 @lac.shift.i64(ptr %to, ptr %from, i64 %n, i64 %offset)
  ret i1 %i64.good
u8:
  %u8.good = call i1 @lac.shift.u8(ptr %to, ptr %from, i64 %n, i64 %offset)
  ret i1 %u8.good
u16:
  %u16.good = call i1 @lac.shift.u16(ptr %to, ptr %from, i64 %n, i64 %offset)
  ret i1 %u16.good
u32:
  %u32.good = call i1 @lac.shift.u32(ptr %to, ptr %from, i64 %n, i64 %offset)
  ret i1 %u32.good
u64:
  %u64.good = call i1 @lac.shift.u64(ptr %to, ptr %from, i64 %n, i64 %offset)
  ret i1 %u64.good
}
