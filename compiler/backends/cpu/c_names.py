"""Names for C: of a function that any program may be linked with, and in a comment.

HLO calls a module what it likes, so as well `main`, `double`, `exp` or `select`.  Where C or C++ has a meaning for such
a name, or the C library a function, it does not stay as it is: compilers refuse a header that declares it again, and
what is linked with another `memcpy` runs astray.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_KEYWORDS = """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t class
    co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto i386 if
    inline int linux long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected
    public register reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast
    struct switch template this thread_local throw true try typedef typeid typename typeof typeof_unqual union unix
    unsigned using virtual void volatile while xor xor_eq
"""

_LIBRARY = """
    a64l abort abs aligned_alloc alloca arc4random arc4random_buf arc4random_uniform at_quick_exit atexit atof atoi
    atol atoll bsearch calloc clearenv div drand48 drand48_r ecvt ecvt_r environ erand48 erand48_r exit fcvt fcvt_r
    free gcvt getenv getloadavg getsubopt initstate initstate_r jrand48 jrand48_r l64a labs lcong48 lcong48_r ldiv
    llabs lldiv lrand48 lrand48_r main malloc mblen mbstowcs mbtowc mkdtemp mkstemp mkstemps mktemp mrand48
    mrand48_r nrand48 nrand48_r on_exit posix_memalign pselect putenv qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort
    quick_exit rand rand_r random random_r realloc reallocarray realpath rpmatch seed48 seed48_r select setenv
    setstate setstate_r srand srand48 srand48_r srandom srandom_r strtod strtof strtol strtold strtoll strtoq
    strtoul strtoull strtouq system unsetenv valloc wcstombs wctomb

    clearerr clearerr_unlocked ctermid dprintf errno fclose fdopen feof feof_unlocked ferror ferror_unlocked fflush
    fflush_unlocked fgetc fgetc_unlocked fgetpos fgets fileno fileno_unlocked flockfile fmemopen fopen fprintf fputc
    fputc_unlocked fputs fread fread_unlocked freopen fscanf fseek fseeko fsetpos ftell ftello ftrylockfile
    funlockfile fwrite fwrite_unlocked getc getc_unlocked getchar getchar_unlocked getdelim getline gets getw
    open_memstream pclose perror popen printf putc putc_unlocked putchar putchar_unlocked puts putw remove rename
    renameat rewind scanf setbuf setbuffer setlinebuf setvbuf snprintf sprintf sscanf stderr stdin stdout tempnam
    tmpfile tmpnam tmpnam_r ungetc vdprintf vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf

    bcmp bcopy bzero ffs ffsl ffsll index memchr memcmp memcpy memmove memset rindex stpcpy stpncpy strcasecmp
    strcat strchr strcmp strcoll strcpy strcspn strdup strerror strlen strncasecmp strncat strncmp strncpy strndup
    strnlen strpbrk strrchr strspn strstr strtok strxfrm

    imaxabs isalnum isalpha isascii isblank iscntrl isdigit isgraph islower isprint ispunct isspace isupper isxdigit
    strftime toascii tolower toupper

    close execl execle execlp execv execve execvp fork open read signal write

    _exit _fini _init _start BIG_ENDIAN BUFSIZ BYTE_ORDER EOF EXIT_FAILURE EXIT_SUCCESS FD_CLR FD_ISSET fd_mask
    FD_SET fd_set FD_SETSIZE FD_ZERO FILE FILENAME_MAX FOPEN_MAX I L_ctermid L_tmpnam LITTLE_ENDIAN MB_CUR_MAX
    NFDBITS NULL offsetof P_tmpdir PDP_ENDIAN RAND_MAX SEEK_CUR SEEK_END SEEK_SET TMP_MAX u_char u_int u_long
    u_short uint ulong ushort va_list
"""
"""What the standard library holds, what its headers that `main` includes hold besides, and what compilers know."""

_MATHEMATICS = """
    acos acosh asin asinh atan atan2 atanh cabs cacos cacosh carg casin casinh catan catanh cbrt ccos ccosh ceil
    cexp cimag clog conj copysign cos cosh cpow cproj creal csin csinh csqrt ctan ctanh drem erf erfc exp exp10 exp2
    expm1 fabs fdim finite floor fma fmax fmin fmod frexp gamma hypot ilogb isinf isnan j0 j1 jn ldexp lgamma llrint
    llround log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter nexttoward pow pow10 remainder
    remquo rint round scalb scalbln scalbn signbit significand sin sincos sinh sqrt tan tanh tgamma trunc y0 y1 yn
"""
"""What there is of each float: with `f` behind it, with `l`, and without."""

_TAKEN = {*_KEYWORDS.split(), *_LIBRARY.split()} | {
    f"{name}{suffix}" for name in _MATHEMATICS.split() for suffix in ("", "f", "l", "_r")
}


def function_name(name: str, used: Iterable[str] = ()) -> str:
    """A name made such that C takes it: with `_` for what C has in none, and behind types' names and what is taken.

    Taken are the library's names and those that are `used`.
    """
    made = re.sub(r"\W", "_", name, flags=re.ASCII)
    made = f"_{made}" if made[:1].isdigit() else made
    return f"{made}_" if made in _TAKEN or made in set(used) or made.endswith("_t") else made


def comment(text: str) -> str:
    """A text within a comment, which it neither ends nor seems to begin another in."""
    return re.sub(r"(?<=[*/])(?=[*/])", " ", text)
