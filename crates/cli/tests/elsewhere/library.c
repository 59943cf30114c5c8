// Compiled by clang alone: landfall sees what it does to persistent memory, but cannot stop it in between.
void put(volatile long *at, long value) { *at = value; }
