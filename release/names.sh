# What a linker is told of a library by its names alone. Sourced by build.sh, wheel.sh, android.sh and try.sh.

# What Windows' linkers read: a library's name, and the functions that it exports.
definitions() { # LIBRARY < NAMES
  printf 'LIBRARY %s\nEXPORTS\n' "$1"
  LC_ALL=C sort -u
}

# The assembler's source of a library that has the names, and no code behind them.
stand_in() { # < NAMES
  sed 's/.*/.globl &\n.type &,%function\n&:/'
}
