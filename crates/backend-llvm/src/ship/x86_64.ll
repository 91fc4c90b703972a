; Which of the versions of a kernel the processor runs: 0, x86-64; 1, x86-64-v3; 2, x86-64-v4. The levels are those of the
; x86-64 psABI; a level's registers must be enabled by the operating system, too.

define internal { i32, i32, i32, i32 } @lac.cpuid(i32 %leaf) {
  %words = call { i32, i32, i32, i32 } asm sideeffect "cpuid", "={ax},={bx},={cx},={dx},{ax},{cx},~{dirflag},~{fpsr},~{flags}"(i32 %leaf, i32 0)
  ret { i32, i32, i32, i32 } %words
}

define internal i32 @lac.level() noinline {
entry:
  %leaf0 = call { i32, i32, i32, i32 } @lac.cpuid(i32 0)
  %last = extractvalue { i32, i32, i32, i32 } %leaf0, 0
  %old = icmp ult i32 %last, 7
  br i1 %old, label %level0, label %features
level0:
  ret i32 0
features:
  %leaf1 = call { i32, i32, i32, i32 } @lac.cpuid(i32 1)
  %c1 = extractvalue { i32, i32, i32, i32 } %leaf1, 2
  ; SSE3, SSSE3, FMA, CMPXCHG16B, SSE4.1, SSE4.2, MOVBE, POPCNT, OSXSAVE, AVX, F16C.
  %c1.wanted = and i32 %c1, 953692673
  %c1.all = icmp eq i32 %c1.wanted, 953692673
  %leaf7 = call { i32, i32, i32, i32 } @lac.cpuid(i32 7)
  %b7 = extractvalue { i32, i32, i32, i32 } %leaf7, 1
  ; BMI1, AVX2, BMI2.
  %b7.wanted = and i32 %b7, 296
  %b7.all = icmp eq i32 %b7.wanted, 296
  ; LAHF, LZCNT; a processor with AVX2 has the leaf.
  %extended = call { i32, i32, i32, i32 } @lac.cpuid(i32 -2147483647)
  %cx = extractvalue { i32, i32, i32, i32 } %extended, 2
  %cx.wanted = and i32 %cx, 33
  %cx.all = icmp eq i32 %cx.wanted, 33
  %both = and i1 %c1.all, %b7.all
  %level1.features = and i1 %both, %cx.all
  br i1 %level1.features, label %registers, label %level0
registers:
  %enabled = call { i32, i32 } asm sideeffect "xgetbv", "={ax},={dx},{cx},~{dirflag},~{fpsr},~{flags}"(i32 0)
  %xcr0 = extractvalue { i32, i32 } %enabled, 0
  %ymm = and i32 %xcr0, 6
  %ymm.on = icmp eq i32 %ymm, 6
  br i1 %ymm.on, label %level1, label %level0
level1:
  ; AVX512F, DQ, CD, BW, VL; its masks and registers: bits 5 to 7 besides.
  %b7.512 = and i32 %b7, -805109760
  %b7.512.all = icmp eq i32 %b7.512, -805109760
  %zmm = and i32 %xcr0, 230
  %zmm.on = icmp eq i32 %zmm, 230
  %level2 = and i1 %b7.512.all, %zmm.on
  %level = select i1 %level2, i32 2, i32 1
  ret i32 %level
}
