#include <landfall.h>

void begin(long *memory);
long look(long *memory);

int main(void) {
  long *memory = lf_pm(4096);
  if (look(memory) > 2)
    return 1;
  begin(memory);
  return 0;
}
