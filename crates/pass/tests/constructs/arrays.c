// Arrays of variable length whose address is known: they come where their declaration is, and go with their block, however it is left.
void *volatile known;

__attribute__((noinline)) static int fill(int entries, int stop) {
  int sum = 0;
  for (int turn = 1; turn <= entries; turn++) {
    int array[turn];
    known = array;
    array[turn - 1] = turn;
    if (turn == stop)
      break;
    short more[turn + 1];
    known = more;
    more[turn] = 1;
    sum += array[turn - 1] + more[turn];
  }
  known = __builtin_alloca((unsigned long)entries * 8);
  return sum;
}

int main(void) {
  return fill(3, 2) != 2 || fill(1, 0) != 2;
}
