/* What the program is called with. */
#include <assert.h>
#include <string.h>

int main(int argc, char **argv) {
  assert(argv[argc] == NULL);
  for (int i = 1; i < argc; i++) assert(argv[i][0] != 'x' && strlen(argv[i]) < 3);
  return 0;
}
