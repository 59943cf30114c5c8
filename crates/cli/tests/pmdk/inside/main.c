// A program whose library is not robust inside, without a symptom.
#include <landfall.h>

void library_writes(long long *words);
long long library_reads(const long long *words);

int main(void) {
  long long *words = lf_pm(128);
  if (!library_reads(words))
    library_writes(words);
  return 0;
}
