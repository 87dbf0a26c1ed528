/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the bash completion of cordon. Runs while cordon is built.
 *
 * The words come from the tables; the function around them uses bash's own compgen only, so it
 * works with and without the bash-completion package. It never starts cordon, and never expands
 * what was typed.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>
#include <string.h>

#include "isolate/commands/manual_tables.h"
#include "isolate/options/option_table.h"

/*
 * How the values of options are completed, by what the help calls them. What is not here has no
 * completion.
 */
static const struct {
	const char *argument, *action;
} actions[] = {
	{ "FILE", "_cordon_files \"$cur\"" },
	{ "PATH", "_cordon_files \"$cur\"" },
	{ "SRC[:DST]", "_cordon_files \"$cur\"" },
	{ "JSON|@FILE",
		"[[ $cur == @* ]] && { _cordon_files \"${cur#@}\"; "
		"COMPREPLY=(\"${COMPREPLY[@]/#/@}\"); }" },
	{ "DIR",
		"compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -d -- "
		"\"$cur\")" },
	{ "POLICY",
		"mapfile -t COMPREPLY < <(compgen -W 'threshold eager operator_approval' -- "
		"\"$cur\")" },
	{ "MODE", "mapfile -t COMPREPLY < <(compgen -W 'none allow' -- \"$cur\")" },
	{ "THEME", "mapfile -t COMPREPLY < <(compgen -W 'dark light mono' -- \"$cur\")" },
	{ "K", "mapfile -t COMPREPLY < <(compgen -e -- \"$cur\")" },
};

/*
 * Prints a case pattern of the options whose value is called argument, or of all that have a value
 * when it is NULL.
 */
static void print_pattern(const char *argument)
{
	bool first = true;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!row->argument || (argument && strcmp(row->argument, argument) != 0))
			continue;
		printf("%s--%s", first ? "" : "|", row->name);
		first = false;
	}
}

static void print_values(void)
{
	puts("_cordon_files() {\n"
	     "    compopt -o filenames 2>/dev/null\n"
	     "    mapfile -t COMPREPLY < <(compgen -f -- \"$1\")\n"
	     "}\n"
	     "# Completes the value of option $1.\n"
	     "_cordon_value() {\n"
	     "    case $1 in");
	for (size_t i = 0; i < sizeof actions / sizeof actions[0]; i++) {
		fputs("    ", stdout);
		print_pattern(actions[i].argument);
		printf(") %s ;;\n", actions[i].action);
	}
	puts("    esac\n}");
}

static void print_options(void)
{
	puts("# Lists the options of command $1.\n_cordon_options() {\n    case $1 in");
	for (size_t i = 0; i < command_text_count; i++) {
		printf("    '%s') printf '%%s\\n'", command_texts[i].name);
		for (size_t j = 0; j < option_row_count; j++) {
			if (option_rows[j].commands & command_texts[i].bit)
				printf(" --%s", option_rows[j].name);
		}
		puts(" ;;");
	}
	puts("    esac\n}");
}

/* The first words of all commands, each once, with a blank after each. */
static void print_commands(void)
{
	for (size_t i = 0; i < command_text_count; i++) {
		size_t length = strcspn(command_texts[i].name, " ");

		if (i == 0 ||
			strncmp(command_texts[i - 1].name, command_texts[i].name,
				length + (command_texts[i].name[length] == ' ')) != 0)
			printf("%.*s ", (int)length, command_texts[i].name);
	}
}

/* The second words of those that have two. */
static void print_subcommands(void)
{
	for (size_t i = 0; i < command_text_count; i++)
		if (strncmp(command_texts[i].name, "tool ", 5) == 0)
			printf("%s ", command_texts[i].name + 5);
}

static void print_words(void)
{
	puts("# Completes a word of command $1 that is no option; $2 is how many such words stand "
	     "before it.\n"
	     "_cordon_word() {\n    case $1 in");
	for (size_t i = 0; i < command_text_count; i++) {
		const struct command_text *command = &command_texts[i];

		if (command->words == FILES)
			printf("    '%s') (( $2 == 0 )) && _cordon_files \"$cur\" ;;\n",
				command->name);
		else if (command->words == COMMAND_LINE)
			printf("    '%s') if (( $2 == 0 )) && [[ $cur != */* ]]; then mapfile -t "
			       "COMPREPLY < <(compgen -c -- \"$cur\");\n"
			       "        else _cordon_files \"$cur\"; fi ;;\n",
				command->name);
	}
	fputs("    help) mapfile -t COMPREPLY < <(compgen -W '", stdout);
	print_commands();
	puts("' -- \"$cur\") ;;\n    esac\n}");
}

static void print_entry(void)
{
	puts("_cordon() {\n"
	     "    local cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} i words=0 "
	     "expects='' ended='' first=2\n"
	     "    COMPREPLY=()\n"
	     "    if (( COMP_CWORD == 1 )); then");
	fputs("        mapfile -t COMPREPLY < <(compgen -W '", stdout);
	print_commands();
	fputs("help --help --version' -- \"$cur\")\n"
	      "        return\n"
	      "    fi\n"
	      "    if [[ $command == tool ]]; then\n"
	      "        if (( COMP_CWORD == 2 )); then\n"
	      "            mapfile -t COMPREPLY < <(compgen -W '",
		stdout);
	print_subcommands();
	puts("--help' -- \"$cur\")\n"
	     "            return\n"
	     "        fi\n"
	     "        command=\"tool ${COMP_WORDS[2]}\" first=3\n"
	     "    fi\n"
	     "    for (( i = first; i < COMP_CWORD; i++ )); do\n"
	     "        if [[ $ended ]]; then (( words++ ))\n"
	     "        elif [[ $expects ]]; then expects=''\n"
	     "        else\n"
	     "            case ${COMP_WORDS[i]} in\n"
	     "            --) ended=1 ;;\n"
	     "            =) ;;");
	fputs("            ", stdout);
	print_pattern(NULL);
	puts(")\n"
	     "                # bash makes \"=\" a word of its own\n"
	     "                expects=${COMP_WORDS[i]}\n"
	     "                if [[ ${COMP_WORDS[i + 1]} == = ]]; then (( i++ )); fi ;;\n"
	     "            -?*) ;;\n"
	     "            *) (( words++ )); [[ $command == tool\\ * ]] || ended=1 ;;\n"
	     "            esac\n"
	     "        fi\n"
	     "    done\n"
	     "    if [[ $expects ]]; then\n"
	     "        if [[ $cur == = ]]; then cur=''; fi\n"
	     "        _cordon_value \"$expects\"\n"
	     "    elif [[ -z $ended && $cur == -* ]]; then\n"
	     "        mapfile -t COMPREPLY < <(compgen -W \"$(_cordon_options \"$command\")\" -- "
	     "\"$cur\")\n"
	     "    else\n"
	     "        _cordon_word \"$command\" \"$words\"\n"
	     "    fi\n"
	     "}\n"
	     "complete -F _cordon cordon");
}

int main(void)
{
	puts("# bash completion of cordon " PACKAGE_VERSION
	     "; made from the option table while cordon was built");
	print_values();
	print_options();
	print_words();
	print_entry();
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : 1;
}
