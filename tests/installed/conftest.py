from tests.support.installed import installed, installed_project, new_project

__all__ = ["installed", "installed_project", "new_project"]
