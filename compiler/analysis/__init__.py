"""Facts about a program that passes and back ends rely on; nothing here changes one."""
