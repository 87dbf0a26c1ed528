/* SPDX-License-Identifier: Apache-2.0 */
/* The commands. Each takes argv with its own name first and returns the exit status. */
#ifndef CORDON_ISOLATE_COMMANDS_COMMANDS_H
#define CORDON_ISOLATE_COMMANDS_COMMANDS_H

int command_run(int argc, char **argv);
int command_exec(int argc, char **argv);
int command_validate(int argc, char **argv);
int command_serve(int argc, char **argv);
int command_console(int argc, char **argv);
int command_events(int argc, char **argv);
int command_tool(int argc, char **argv);
int command_doctor(int argc, char **argv);

#endif
