#include <landfall.h>
#include <string.h>
static void store(long *p) { p[1 << 20] = 1; }
static void copy(char *p) { memcpy(p, "abcdefgh", 8); }
static void text(char *volatile p) { strcpy(p, "abc"); }
int main(int count, char **arguments) {
  long *p = lf_pm(64);
  switch (count > 1 ? arguments[1][0] : 0) {
  case 's': store(p); break;
  case 'c': copy((char *)8); break;
  case 't': text((char *)8); break;
  }
  return 0;
}
