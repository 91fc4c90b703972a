; Adds an offset to integers of one type: whether all sums fit. `ship.rs` puts in a type's name, bits, extension and limit.
define internal i1 @lac.shift.{name}(ptr %to, ptr %from, i64 %n, i64 %offset) {
entry:
  %adds = zext i64 %offset to i128
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k.next, %one ]
  %fits = phi i1 [ true, %entry ], [ %fits.next, %one ]
  %more = icmp ult i64 %k, %n
  br i1 %more, label %one, label %done
one:
  %from.at = getelementptr i{bits}, ptr %from, i64 %k
  %old = load i{bits}, ptr %from.at
  %wide = {extend} i{bits} %old to i128
  %sum = add i128 %wide, %adds
  %small = icmp sle i128 %sum, {limit}
  %fits.next = and i1 %fits, %small
  %new = trunc i128 %sum to i{bits}
  %to.at = getelementptr i{bits}, ptr %to, i64 %k
  store i{bits} %new, ptr %to.at
  %k.next = add i64 %k, 1
  br label %loop
done:
  ret i1 %fits
}

