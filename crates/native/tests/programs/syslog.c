// The system's log is dropped: no socket, no event, and what it is told is not read.
#define _GNU_SOURCE
#include "../support/hooks.h"
#include <stdarg.h>
#include <syslog.h>

static void log_it(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsyslog(LOG_ERR, format, arguments);
  va_end(arguments);
}

int main(void) {
  char *text = lf_pm(64);
  openlog("program", LOG_PID, LOG_USER);
  syslog(LOG_INFO, "%s %d", text, 7);
  log_it("%s %f", text, 1.5);
  closelog();
  __lf_store8(text, 7, 0, SITE);
  return 0;
}
