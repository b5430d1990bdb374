"""A small shop in Django, whose jobs and tasks workkit runs.

pip install '/path/to/workkit[django,embedded]' django-tasks        (Django 6.0 has the tasks itself)
cd examples/django_shop; python manage.py migrate
python manage.py workkit listen --sync                     here, or on any machines that have the project
python manage.py order ada                                 in another terminal
"""

import os
import sys

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "project.settings")
    execute_from_command_line(sys.argv)
