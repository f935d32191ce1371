// Declarations as in macOS: thread classes.
#pragma once

#include_next <pthread.h>

enum qos_class_t : unsigned {
  QOS_CLASS_USER_INTERACTIVE = 0x21,
  QOS_CLASS_USER_INITIATED = 0x19,
  QOS_CLASS_DEFAULT = 0x15,
  QOS_CLASS_UTILITY = 0x11,
};

extern "C" int pthread_set_qos_class_self_np(qos_class_t qos_class, int relative_priority);
