#pragma once
#define SYS_REBOOT_COLD 1
void sys_reboot(int type) __attribute__((noreturn));
