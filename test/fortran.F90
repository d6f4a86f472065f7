! fortran.F90 - every routine of contrib/fortran, each against the values that its arguments give. For 2 and more PEs.
! The compiler's cpp puts the macros' arguments into strings, too.
#define RMA(PUT, GET, PUTN, GETN, S, D, COUNT) \
  call one("PUT", S, D); call PUT(D, S, COUNT, right); call shmem_barrier_all(); call check("PUT", all(D(1:5) == [(left*100 + i, i = 1, 5)]) .and. D(6) == 0); \
  call one("GET", S, D); call GET(D, S, COUNT, right); call check("GET", all(D(1:5) == [(right*100 + i, i = 1, 5)]) .and. D(6) == 0); \
  call one("PUTN", S, D); call PUTN(D, S, COUNT, right); call shmem_quiet(); call shmem_barrier_all(); call check("PUTN", all(D(1:5) == [(left*100 + i, i = 1, 5)]) .and. D(6) == 0); \
  call one("GETN", S, D); call GETN(D, S, COUNT, right); call shmem_quiet(); call check("GETN", all(D(1:5) == [(right*100 + i, i = 1, 5)]) .and. D(6) == 0)
#define STRIDED(PUT, GET, S, D) \
  call one("PUT", S, D); call PUT(D, S, 2, 3, 3, right); call shmem_barrier_all(); call check("PUT", all(D(1:6) == [left*100 + 1, 0, left*100 + 4, 0, left*100 + 7, 0])); \
  call one("GET", S, D); call GET(D, S, 2, 3, 3, right); call check("GET", all(D(1:6) == [right*100 + 1, 0, right*100 + 4, 0, right*100 + 7, 0]))
#define SET(W, V) W = V; call shmem_barrier_all()
#define VALUE(FETCH, PUT, SWAP, W, O) \
  SET(W, me); O = FETCH(W, right); call check("FETCH", O == right); call shmem_barrier_all(); \
  call PUT(W, O + 50, right); call shmem_barrier_all(); call check("PUT", W == me + 50); call shmem_barrier_all(); \
  O = 7; O = SWAP(W, O, right); call check("SWAP", O == right + 50); call shmem_barrier_all(); call check("SWAP", W == 7)
#define COUNTER(ADD, INC, FINC, FADD, CSWAP, W, O, FIVE) \
  SET(W, me); call ADD(W, FIVE, right); call shmem_barrier_all(); call check("ADD", W == me + 5); \
  SET(W, me); call INC(W, right); call shmem_barrier_all(); call check("INC", W == me + 1); \
  SET(W, me); O = FINC(W, right); call shmem_barrier_all(); call check("FINC", W == me + 1 .and. O == right); \
  SET(W, me); O = FADD(W, FIVE, right); call shmem_barrier_all(); call check("FADD", W == me + 5 .and. O == right); \
  SET(W, 5); O = CSWAP(W, FIVE, FIVE + FIVE, right); call shmem_barrier_all(); call check("CSWAP", W == 10 .and. O == 5); \
  call shmem_barrier_all(); O = CSWAP(W, FIVE, FIVE, right); call shmem_barrier_all(); call check("CSWAP", W == 10 .and. O == 10)
#define WAITS(SETTER, WAIT, UNTIL, W, O) \
  SET(W, 0); O = 3; call SETTER(W, O, right); O = 0; call WAIT(W, O); call check("WAIT", W == 3); call shmem_barrier_all(); \
  SET(W, 0); O = 4; call SETTER(W, O, right); call UNTIL(W, SHMEM_CMP_GE, O); call check("UNTIL", W == 4); call shmem_barrier_all()
! Members are all PEs; the root of the broadcast is the last one, which does not copy to itself.
#define GATHERS(CAST, COLLECT, FCOLLECT, S, D) \
  call one("CAST", S, D); call CAST(D, S, 5, n - 1, 0, 0, n, sync); call shmem_barrier_all(); call check("CAST", me == n - 1 .or. all(D(1:5) == [((n - 1)*100 + i, i = 1, 5)])); \
  call one("FCOLLECT", S, D); call FCOLLECT(D, S, 2, 0, 0, n, sync); call shmem_barrier_all(); \
  call check("FCOLLECT", all([(D(2*i + 1) == i*100 + 1 .and. D(2*i + 2) == i*100 + 2, i = 0, n - 1)])); \
  call one("COLLECT", S, D); call COLLECT(D, S, 1 + mod(me, 2), 0, 0, n, sync); call shmem_barrier_all(); \
  call check("COLLECT", all([(D(i + i/2 + 1) == i*100 + 1, i = 0, n - 1)]))
#define ALLTOALL(ALL, ALLS, S, D) \
  call one("ALL", S, D); call ALL(D, S, 1, 0, 0, n, sync); call shmem_barrier_all(); call check("ALL", all([(D(i + 1) == i*100 + me + 1, i = 0, n - 1)])); \
  call one("ALLS", S, D); call ALLS(D, S, 2, 1, 1, 0, 0, n, sync); call shmem_barrier_all(); call check("ALLS", all([(D(2*i + 1) == i*100 + me + 1, i = 0, n - 1)]))
#define REDUCE(OP, S, D, WORK, A, B) \
  call one("OP", S, D); S(1) = me + 1; S(2) = 2; call shmem_barrier_all(); call OP(D, S, 2, 0, 0, n, WORK, sync); call shmem_barrier_all(); call check("OP", D(1) == A .and. D(2) == B)
#define SUMS(SUM, PROD, S, D, WORK) \
  REDUCE(SUM, S, D, WORK, n*(n + 1)/2, 2*n); REDUCE(PROD, S, D, WORK, product([(i, i = 1, n)]), 2**n)
#define ORDERED(MAX, MIN, S, D, WORK) REDUCE(MAX, S, D, WORK, n, 2); REDUCE(MIN, S, D, WORK, 1, 2)
#define BITS(AND, OR, XOR, S, D, WORK) \
  REDUCE(AND, S, D, WORK, folded(1), 2); REDUCE(OR, S, D, WORK, folded(2), 2); REDUCE(XOR, S, D, WORK, folded(3), 2*mod(n, 2))

module symmetric
  include 'mpp/shmem.fh'
  integer, parameter :: most = 128
  integer, save :: sync(SHMEM_ALLTOALLS_SYNC_SIZE) = SHMEM_SYNC_VALUE
  integer, save :: lock = 0, guard = 11, counter, i4, i4s(most), i4d(most), w4(SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2)
  integer(8), save :: i8, i8s(most), i8d(most), w8(SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2)
  real(4), save :: r4, r4s(most), r4d(most), wr4(SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2)
  real(8), save :: r8, r8s(most), r8d(most), wr8(SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2)
  complex(4), save :: c4s(most), c4d(most), wc4(SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2)
  complex(8), save :: c8s(most), c8d(most), wc8(SHMEM_REDUCE_MIN_WRKDATA_SIZE + 2)
  logical, save :: ls(8), ld(8)
  character(8), save :: cs, cd
  integer, save :: me, n, right, left, wrong = 0, checks = 0
  interface one
    procedure one_i4, one_i8, one_r4, one_r8, one_c4, one_c8
  end interface
contains
  subroutine check(what, right_value)
    character(*), intent(in) :: what
    logical, intent(in) :: right_value
    checks = checks + 1
    if (right_value) return
    wrong = wrong + 1
    print *, 'PE', me, ': ', what
  end subroutine
! Source me*100 + 1, 2, ...; destination 0; at all PEs.
#define ONE(NAME, T) \
  subroutine NAME(what, s, d); character(*), intent(in) :: what; T, intent(out) :: s(:), d(:); integer :: i; \
    call shmem_barrier_all(); s = [(me*100 + i, i = 1, size(s))]; d = 0; call shmem_barrier_all(); end subroutine
  ONE(one_i4, integer)
  ONE(one_i8, integer(8))
  ONE(one_r4, real(4))
  ONE(one_r8, real(8))
  ONE(one_c4, complex(4))
  ONE(one_c8, complex(8))
  integer function folded(how)
    integer, intent(in) :: how
    integer :: i
    folded = 1
    do i = 2, n
      if (how == 1) folded = iand(folded, i)
      if (how == 2) folded = ior(folded, i)
      if (how == 3) folded = ieor(folded, i)
    end do
  end function
end module

program fortran
  use symmetric
  integer :: i, j, major, minor, error, my_pe, num_pes, shmem_my_pe, shmem_n_pes, shmem_swap, shmem_test_lock, o4
  integer :: shmem_int4_fetch, shmem_int4_swap, shmem_int4_finc, shmem_int4_fadd, shmem_int4_cswap
  integer(8) :: shmem_int8_fetch, shmem_int8_swap, shmem_int8_finc, shmem_int8_fadd, shmem_int8_cswap, shmem_ptr, o8
  real(4) :: shmem_real4_fetch, shmem_real4_swap, o_r4
  real(8) :: shmem_real8_fetch, shmem_real8_swap, o_r8
  logical :: shmem_pe_accessible, shmem_addr_accessible
  character(SHMEM_MAX_NAME_LEN) :: name
  integer :: block(4)
  pointer (at, block)
  external shmem_int4_set, shmem_int8_set

  call start_pes(0)
  me = shmem_my_pe()
  n = shmem_n_pes()
  right = mod(me + 1, n)
  left = mod(me + n - 1, n)
  call check('my_pe, num_pes', my_pe() == me .and. num_pes() == n)
  call check('pe_accessible', shmem_pe_accessible(right) .and. .not. shmem_pe_accessible(n))
  call check('addr_accessible', shmem_addr_accessible(i4, right) .and. .not. shmem_addr_accessible(o4, right))
  call check('ptr', shmem_ptr(i4, me) == loc(i4))
  call shmem_info_get_version(major, minor)
  call check('info_get_version', major == 1 .and. minor >= 4)
  name = 'x'
  call shmem_info_get_name(name)
  call check('info_get_name', name(1:6) == 'Fulmar' .and. name(SHMEM_MAX_NAME_LEN:) == ' ')

  call shpalloc(at, 4, error, 1)
  call check('shpalloc', error == 0 .and. shmem_addr_accessible(block, right))
  block = me
  call shpclmove(at, 2000000, error, 1)
  call check('shpclmove', (error == 0 .or. error == 1) .and. all(block == me))
  call shpdeallc(at, error, 1)
  call check('shpdeallc', error == 0)
  call shpalloc(at, 0, error, 0)
  call check('shpalloc of nothing', error == -1)

  RMA(shmem_integer_put, shmem_integer_get, shmem_integer_put_nbi, shmem_integer_get_nbi, i4s, i4d, 5)
  RMA(shmem_real_put, shmem_real_get, shmem_real_put_nbi, shmem_real_get_nbi, r4s, r4d, 5)
  RMA(shmem_double_put, shmem_double_get, shmem_double_put_nbi, shmem_double_get_nbi, r8s, r8d, 5)
  RMA(shmem_complex_put, shmem_complex_get, shmem_complex_put_nbi, shmem_complex_get_nbi, c4s, c4d, 5)
  RMA(shmem_put4, shmem_get4, shmem_put4_nbi, shmem_get4_nbi, i4s, i4d, 5)
  RMA(shmem_put8, shmem_get8, shmem_put8_nbi, shmem_get8_nbi, i8s, i8d, 5)
  RMA(shmem_put32, shmem_get32, shmem_put32_nbi, shmem_get32_nbi, r4s, r4d, 5)
  RMA(shmem_put64, shmem_get64, shmem_put64_nbi, shmem_get64_nbi, r8s, r8d, 5)
  RMA(shmem_put128, shmem_get128, shmem_put128_nbi, shmem_get128_nbi, c8s, c8d, 5)
  RMA(shmem_putmem, shmem_getmem, shmem_putmem_nbi, shmem_getmem_nbi, i4s, i4d, 20)
  STRIDED(shmem_integer_iput, shmem_integer_iget, i4s, i4d)
  STRIDED(shmem_real_iput, shmem_real_iget, r4s, r4d)
  STRIDED(shmem_double_iput, shmem_double_iget, r8s, r8d)
  STRIDED(shmem_complex_iput, shmem_complex_iget, c4s, c4d)
  STRIDED(shmem_iput4, shmem_iget4, i4s, i4d)
  STRIDED(shmem_iput8, shmem_iget8, i8s, i8d)
  STRIDED(shmem_iput32, shmem_iget32, r4s, r4d)
  STRIDED(shmem_iput64, shmem_iget64, r8s, r8d)
  STRIDED(shmem_iput128, shmem_iget128, c8s, c8d)

  ls = mod(me, 2) == 0
  ld = .not. (mod(left, 2) == 0)
  cs = 'abcdefg' // achar(iachar('0') + mod(me, 10))
  cd = '........'
  call shmem_barrier_all()
  call shmem_logical_put(ld, ls, 3, right)
  call shmem_logical_put_nbi(ld(5), ls, 3, right)
  call shmem_character_put(cd, cs, 2, right)
  call shmem_character_put_nbi(cd(8:), cs(8:), 1, right)
  call shmem_quiet()
  call shmem_barrier_all()
  call check('logical_put', all(ld .eqv. [(mod(left, 2) == 0 .neqv. mod(i, 4) == 0, i = 1, 8)]))
  call check('character_put', cd == 'ab.....' // achar(iachar('0') + mod(left, 10)))
  call shmem_barrier_all()
  ld = .not. (mod(right, 2) == 0)
  call shmem_logical_get(ld, ls, 2, right)
  call shmem_logical_get_nbi(ld(3), ls, 1, right)
  call shmem_logical_iget(ld(5), ls, 2, 1, 2, right)
  call shmem_character_get(cd, cs, 7, right)
  call shmem_character_get_nbi(cd(8:), cs(8:), 1, right)
  call shmem_quiet()
  call check('logical_get', all(ld .eqv. [(mod(right, 2) == 0 .neqv. (i == 4 .or. i == 6 .or. i == 8), i = 1, 8)]))
  call check('character_get', cd == 'abcdefg' // achar(iachar('0') + mod(right, 10)))
  call shmem_barrier_all()
  ld = .not. (mod(left, 2) == 0)
  call shmem_barrier_all()
  call shmem_logical_iput(ld, ls, 3, 1, 2, right)
  call shmem_barrier_all()
  call check('logical_iput', all(ld .eqv. [(mod(left, 2) == 0 .eqv. (i == 1 .or. i == 4), i = 1, 8)]))

  VALUE(shmem_int4_fetch, shmem_int4_set, shmem_int4_swap, i4, o4)
  VALUE(shmem_int8_fetch, shmem_int8_set, shmem_int8_swap, i8, o8)
  VALUE(shmem_real4_fetch, shmem_real4_set, shmem_real4_swap, r4, o_r4)
  VALUE(shmem_real8_fetch, shmem_real8_set, shmem_real8_swap, r8, o_r8)
  COUNTER(shmem_int4_add, shmem_int4_inc, shmem_int4_finc, shmem_int4_fadd, shmem_int4_cswap, i4, o4, 5)
  COUNTER(shmem_int8_add, shmem_int8_inc, shmem_int8_finc, shmem_int8_fadd, shmem_int8_cswap, i8, o8, 5_8)
  SET(i4, me)
  o4 = shmem_swap(i4, 9, right)
  call shmem_barrier_all()
  call check('shmem_swap', o4 == right .and. i4 == 9)
  WAITS(shmem_int4_set, shmem_int4_wait, shmem_int4_wait_until, i4, o4)
  WAITS(shmem_int8_set, shmem_int8_wait, shmem_int8_wait_until, i8, o8)
  WAITS(shmem_int4_set, shmem_wait, shmem_wait_until, i4, o4)

  counter = 0
  call shmem_barrier_all()
  do j = 1, 50
    call shmem_set_lock(lock)
    call shmem_integer_get(o4, counter, 1, 0)
    o4 = o4 + 1
    call shmem_integer_put(counter, o4, 1, 0)
    call shmem_clear_lock(lock)
  end do
  call shmem_barrier_all()
  if (me == 0) call check('set_lock', counter == 50*n .and. lock == 0 .and. guard == 11)
  call shmem_barrier_all()
  if (me == 0) call check('test_lock', shmem_test_lock(lock) == 0)
  call shmem_barrier_all()
  if (me /= 0) call check('test_lock', shmem_test_lock(lock) == 1)
  call shmem_barrier_all()
  if (me == 0) call shmem_clear_lock(lock)
  call shmem_fence()
  call shmem_set_cache_inv()
  call shmem_set_cache_line_inv(i4)
  call shmem_clear_cache_inv()
  call shmem_clear_cache_line_inv(i4)
  call shmem_udcflush()
  call shmem_udcflush_line(i4)

  call shmem_barrier(0, 0, n, sync)
  GATHERS(shmem_broadcast4, shmem_collect4, shmem_fcollect4, i4s, i4d)
  GATHERS(shmem_broadcast8, shmem_collect8, shmem_fcollect8, i8s, i8d)
  GATHERS(shmem_broadcast32, shmem_collect32, shmem_fcollect32, r4s, r4d)
  GATHERS(shmem_broadcast64, shmem_collect64, shmem_fcollect64, r8s, r8d)
  ALLTOALL(shmem_alltoall32, shmem_alltoalls32, i4s, i4d)
  ALLTOALL(shmem_alltoall64, shmem_alltoalls64, r8s, r8d)
  SUMS(shmem_int4_sum_to_all, shmem_int4_prod_to_all, i4s, i4d, w4)
  SUMS(shmem_int8_sum_to_all, shmem_int8_prod_to_all, i8s, i8d, w8)
  SUMS(shmem_real4_sum_to_all, shmem_real4_prod_to_all, r4s, r4d, wr4)
  SUMS(shmem_real8_sum_to_all, shmem_real8_prod_to_all, r8s, r8d, wr8)
  SUMS(shmem_comp4_sum_to_all, shmem_comp4_prod_to_all, c4s, c4d, wc4)
  SUMS(shmem_comp8_sum_to_all, shmem_comp8_prod_to_all, c8s, c8d, wc8)
  ORDERED(shmem_int4_max_to_all, shmem_int4_min_to_all, i4s, i4d, w4)
  ORDERED(shmem_int8_max_to_all, shmem_int8_min_to_all, i8s, i8d, w8)
  ORDERED(shmem_real4_max_to_all, shmem_real4_min_to_all, r4s, r4d, wr4)
  ORDERED(shmem_real8_max_to_all, shmem_real8_min_to_all, r8s, r8d, wr8)
  BITS(shmem_int4_and_to_all, shmem_int4_or_to_all, shmem_int4_xor_to_all, i4s, i4d, w4)
  BITS(shmem_int8_and_to_all, shmem_int8_or_to_all, shmem_int8_xor_to_all, i8s, i8d, w8)

  i4 = wrong
  call shmem_barrier_all()
  call shmem_int4_sum_to_all(i4d, i4, 1, 0, 0, n, w4, sync)
  if (me == 0) print *, checks, 'checks at PE 0,', i4d(1), 'wrong at all PEs'
  if (i4d(1) /= 0) call shmem_global_exit(1)
  call shmem_finalize()
end program
