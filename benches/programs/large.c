/* A process of five megabytes that does little. */
#include <landfall.h>
#include <string.h>
static char data[5 << 20];
__attribute__((constructor)) static void fill(void) { memset(data, 1, sizeof data); }
int main(void) {
  long *p = lf_pm(64);
  *p = data[4096];
  return 0;
}
